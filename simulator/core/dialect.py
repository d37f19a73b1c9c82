"""What a provider's API looks like, as far as the machine needs to know.

Rule 1: a dialect translates; it keeps no state and decides nothing about money.
Rule 2: ``read`` never raises, whatever was sent: bad input becomes ``Unreadable``.
Rule 3: time comes in as a number: virtual seconds in results, real seconds in signatures.
"""

from typing import Protocol

from simulator.core.calls import ChargeParams, EventParams, Operation, Unreadable
from simulator.core.events import Event
from simulator.core.idempotency import KeyPolicy
from simulator.core.messages import HttpReply, HttpRequest
from simulator.core.results import Result


class Dialect(Protocol):
    """One provider's way of saying things. One file each in ``simulator/dialects``."""

    @property
    def name(self) -> str:
        """The public name: that of the dialect's file."""

    @property
    def keys(self) -> KeyPolicy:
        """What this provider does with idempotency keys, as data."""

    @property
    def schedule_s(self) -> tuple[float, ...]:
        """Seconds of virtual time before the first attempt, the second, and so on."""

    @property
    def events_shown_s(self) -> float:
        """For how long after its birth an event can be listed and read, in virtual seconds."""

    @property
    def bills(self) -> bool:
        """Whether it tells merchants of invoices that are due, for them to charge."""

    @property
    def named_as(self) -> str:
        """Where a charge says which of the merchant's orders it is for, in its words."""

    @property
    def foreign_secret(self) -> str:
        """A well-formed webhook secret that no endpoint has."""

    def read(self, request: HttpRequest) -> Operation | Unreadable:
        """Tell what a request asks for."""

    def ask(
        self, params: ChargeParams | EventParams, account: str, key: str | None = None
    ) -> HttpRequest | None:
        """Write the request that ``read`` reads as this: what a caller would send.

        An id in ``params`` is any that this provider has given out for a charge or for what it
        is made of. What it cannot be asked for is left out of the request; where it has no such
        call at all, there is none. Examples, the conformance suite and the fuzzer's corpus are
        made of it.
        """

    def answer(self, result: Result) -> HttpReply:
        """Put a result into words."""

    def addressed(self, reply: HttpReply, call: str) -> HttpReply:
        """Put on a reply what tells it from all others: this call's own headers, if any."""

    def event_type(self, name: str) -> str:
        """Return this provider's name for an event that a desk names neutrally."""

    def told_as(self, fact: str) -> tuple[str, ...]:
        """Return this provider's names for the events by which it tells what a bank did.

        ``fact`` is ``charge.captured``, ``charge.declined`` and so on.
        """

    def accepts_secret(self, secret: str) -> bool:
        """Tell whether a webhook secret is well-formed."""

    def message(
        self, event: Event, url: str, secrets: tuple[str, ...], wall_s: float
    ) -> HttpRequest:
        """Return the POST that tells ``url`` of an event; its ``path`` is the whole URL.

        It is signed with every secret, the newest first: two while one replaces the other.
        """

    def acknowledged(self, status: int, body: bytes) -> bool:
        """Tell whether this answer to a webhook ends the delivery."""
