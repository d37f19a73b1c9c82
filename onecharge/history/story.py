"""What happened to one order, told from three sides: client, provider, service.

Rule 1: a story holds facts and their places in the history; it concludes nothing.
Rule 2: places are record indexes; a smaller one happened earlier.
Rule 3: there are millions of facts and no circles among them: they are structs that the collector
        of cycles need not look at. A default list is each one's own.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, Literal

import msgspec

from onecharge.history.attribution import TieRule
from onecharge.history.outcomes import MEANING, TERMINAL, Outcome

BeliefStatus = Literal["succeeded", "failed", "pending", "refunded", "absent", "unreadable"]

Operation = Literal["charge", "refund", "capture", "read"]
"""What a client asks for."""

Variant = Literal[
    "same",
    "other_amount",
    "other_currency",
    "other_customer",
    "other_tenant",
    "other_operation",
    "header_jitter",
    "json_jitter",
    "new_key",
]
"""How a request differs from the one that its order was announced with."""

OTHER_BODIES: Final[frozenset[Variant]] = frozenset(
    {"other_amount", "other_currency", "other_customer"}
)
"""The same key with something else in the request: to be refused."""

MOVES_MONEY: Final = frozenset({"charge.create", "charge.capture", "charge.refund"})
"""The calls to the provider that may change who has the money."""

FORGERIES: Final = frozenset(
    {"wrong_signature", "missing_signature", "old_signature", "foreign_signature"}
)
"""The faults after which a delivery cannot be verified."""


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a client was told. ``charge`` is the service's own id for it.

    ``stable`` holds the fields that the service file says never change, by their JSONPath.
    """

    index: int
    outcome: Outcome
    status: int | None = None
    charge: str | None = None
    provider_charge: str | None = None
    error: str | None = None
    stable: Mapping[str, Any] | None = None

    @property
    def terminal(self) -> bool:
        """Whether it says how the order ended."""
        return self.outcome in TERMINAL


class Attempt(msgspec.Struct, gc=False):
    """One request of a client. Without an answer it never came back, as far as we know.

    Amount, currency and customer are those that it really carried, whatever the order's are.
    """

    lane: str
    number: int
    invoked: int
    tenant: str | None
    key: str | None
    amount_minor: int
    currency: str
    customer: str | None = None
    variant: Variant = "same"
    operation: Operation = "charge"
    answer: Answer | None = None
    outcome: Outcome = "unknown"

    def hear(self, answer: Answer) -> None:
        """Take what its client was told."""
        self.answer, self.outcome = answer, answer.outcome

    @property
    def open(self) -> bool:
        """Whether the client cannot know how the order ended from this attempt."""
        return MEANING[self.outcome].open

    @property
    def other_body(self) -> bool:
        """Whether it carries the key of a request that said something else."""
        return self.variant in OTHER_BODIES

    @property
    def ended(self) -> float:
        """When its client stopped waiting: a place, or infinity."""
        return inf if self.answer is None else self.answer.index

    def in_flight_at(self, place: int) -> bool:
        """Whether its client was still waiting at this place of the history."""
        return self.invoked < place and (self.answer is None or place < self.answer.index)


class Call(msgspec.Struct, gc=False):
    """One request of the service to the provider. ``ended`` is the place of its reply or drop."""

    id: str
    operation: str
    received: int
    order: str | None
    account: str | None
    key: str | None
    ended: int | None = None
    status: int | None = None
    replayed: bool = False
    dropped: str | None = None
    charge: str | None = None
    released_because: str | None = None
    mentions: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the service was told for certain that nothing happened."""
        definite = self.status is not None and 400 <= self.status < 500
        # 409 says that another call with the key is at work, not how that one ends.
        return self.dropped is None and definite and self.status != 409

    @property
    def answered(self) -> bool:
        """Whether the service was given a success it could read."""
        return self.dropped is None and self.status is not None and 200 <= self.status < 300

    def under_way_at(self, place: int) -> bool:
        return self.received < place and (self.ended is None or place < self.ended)


class Refund(msgspec.Struct, frozen=True, gc=False):
    """Money that was given back."""

    index: int
    amount_minor: int
    call: str | None = None
    key: str | None = None


class Charge(msgspec.Struct, gc=False):
    """The provider's record of taking money; real once ``captured`` has a place.

    ``began`` is the place of the call that made it, if that was seen. ``intent`` is what else a
    provider calls it by, where it speaks of intents to pay.
    """

    id: str
    created: int
    began: int
    call: str | None
    key: str | None
    account: str | None
    amount_minor: int
    currency: str
    customer: str | None = None
    reference: str | None = None
    intent: str | None = None
    mentions: tuple[str, ...] = ()
    key_honoured: bool = True
    order: str | None = None
    tied_by: TieRule | None = None
    captured: int | None = None
    captured_minor: int = 0
    refunded_minor: int = 0
    declined: int | None = None
    refunds: list[Refund] = []

    @property
    def names(self) -> tuple[str, ...]:
        """What a service may rightly call it."""
        return (self.id,) if self.intent is None else (self.id, self.intent)

    @property
    def kept_minor(self) -> int:
        """What was taken and not given back."""
        return self.captured_minor - self.refunded_minor

    def is_as_asked(self, attempt: Attempt) -> bool:
        """Whether it is for the money that an attempt asked for."""
        return self.amount_minor == attempt.amount_minor and (
            self.currency == attempt.currency or self.currency.upper() == attempt.currency.upper()
        )


class Delivering(msgspec.Struct, gc=False):
    """One attempt to tell the service of an event. ``endpoint`` is the address it went to.

    ``forged`` says that the event itself is a stranger's invention, ``faults`` what became of the
    attempt on its way.
    """

    attempt: str
    endpoint: str
    event: str
    sent: int
    forged: bool = False
    ended: int | None = None
    acknowledged: bool = False
    status: int | None = None
    faults: tuple[str, ...] = ()

    @property
    def unverifiable(self) -> bool:
        """Whether the receiver has no reason to believe it."""
        return self.forged or not FORGERIES.isdisjoint(self.faults)

    def under_way_at(self, place: int) -> bool:
        return self.sent < place and (self.ended is None or place < self.ended)


class Event(msgspec.Struct, gc=False):
    """A fact at the provider, and every attempt to tell of it."""

    id: str
    type: str
    created: int
    charge: str | None
    order: str | None = None
    attempts: list[Delivering] = []

    @property
    def acknowledged(self) -> bool:
        """Whether every endpoint that it was sent to has acknowledged it; a forgery need not be."""
        if len(self.attempts) == 1 and self.attempts[0].acknowledged:  # as most are
            return True
        told = {attempt.endpoint for attempt in self.attempts if attempt.acknowledged}
        return all(attempt.endpoint in told for attempt in self.attempts if not attempt.forged)


class Belief(msgspec.Struct, frozen=True, gc=False):
    """What the service itself said of the order when it was last asked; None: no way to ask."""

    index: int
    status: BeliefStatus | None = None
    charge: str | None = None
    amount_minor: int | None = None
    effects: int | None = None
    effects_minor: int | None = None
    refunds: int | None = None
    refunded_minor: int | None = None
    effects_by_event: Mapping[str, int] | None = None


class Firing(msgspec.Struct, frozen=True, gc=False):
    """A rule of the plan did its work."""

    index: int
    rule: str
    fault: str
    seam: str
    order: str | None
    call: str | None = None


class OrderStory(msgspec.Struct, gc=False):
    """Everything that was seen of one order. Lists are in the order of the history.

    ``attempts`` are the requests to be charged, ``others`` those to refund, capture or read.
    ``beliefs`` are all that the service said of it, one after the other, ``customers`` all that it
    was sent for.
    """

    order: str
    tenant: str | None = None
    amount_minor: int = 0
    currency: str = ""
    customers: tuple[str, ...] = ()
    attempts: list[Attempt] = []
    answers: list[Answer] = []
    others: list[Attempt] = []
    calls: list[Call] = []
    charges: list[Charge] = []
    real_charges: list[Charge] = []
    events: list[Event] = []
    firings: list[Firing] = []
    beliefs: list[Belief] = []

    @property
    def belief(self) -> Belief | None:
        """What the service said of it when it was last asked."""
        return self.beliefs[-1] if self.beliefs else None

    @property
    def booked_as_taken(self) -> bool:
        """Whether all there is to book is one charge, which was booked once and in full."""
        belief = self.belief
        if belief is None or len(self.real_charges) != 1 or belief.effects != 1:
            return False
        [charge] = self.real_charges
        return (
            (charge.captured or 0) < belief.index
            and belief.effects_minor in {None, charge.captured_minor}
            and not (belief.effects_by_event or charge.refunds or belief.refunded_minor)
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The client keys it was sent under, without repeats."""
        return tuple(dict.fromkeys(a.key for a in self.attempts if a.key is not None))

    @property
    def asked_how(self) -> list[Attempt]:
        """The questions of its own tenant's clients how the charge went."""
        return [
            attempt
            for attempt in self.others
            if attempt.operation == "read" and attempt.variant != "other_tenant"
        ]

    @property
    def refunds_asked(self) -> list[Attempt]:
        """The requests of clients to be given their money back."""
        return [attempt for attempt in self.others if attempt.operation == "refund"]

    @property
    def kept_minor(self) -> int:
        """What was taken for it and not given back."""
        return sum(charge.kept_minor for charge in self.real_charges)

    def __repr__(self) -> str:
        return (
            f"<OrderStory {self.order}: {len(self.attempts)} attempts, "
            f"{len(self.real_charges)} real charges>"
        )
