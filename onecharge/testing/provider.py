"""The provider simulator inside a test's own process, for sync and async tests alike.

Rule 1: it lives on a thread of its own; whatever a test asks is asked there.
Rule 2: a fault that was armed and never fired is a test that shows nothing; ``must_have_fired``
        says so.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from onecharge.service_file.provider import TEST_KEY
from onecharge.testing.loop_thread import LoopThread, loop_thread
from onecharge.testing.money import Charged
from simulator.catalogue import rules_from
from simulator.core.ledger import Posting
from simulator.redaction import redacted
from simulator.server import Simulator
from simulator.timed_journal import TimedJournal

_LOOK_AGAIN_S: Final = 0.01
_FIRST_PAUSE: Final = 2**11  # so that a schedule of ten attempts ends before the patience does


class FaultNotReached(AssertionError):
    """A fault was armed and never fired, so that nothing is known of how it would have gone."""


class NotSettled(AssertionError):
    """Something at the provider did not come to its end: which event, and where it was told."""


class RunningProvider:
    """A provider that listens on loopback: what goes wrong with it, and what it took.

    A handle to a ``simulator`` that somebody runs on ``loop``.
    """

    def __init__(self, simulator: Simulator, loop: LoopThread) -> None:
        self._simulator = simulator
        self._loop = loop
        self._planned: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return f"<RunningProvider {self.dialect} at {self.url}>"

    @property
    def url(self) -> str:
        """The base URL for the provider's client, without a slash at the end."""
        return next(iter(self._simulator.urls.values()))

    @property
    def key(self) -> str:
        """A secret key that the provider takes."""
        return TEST_KEY

    @property
    def dialect(self) -> str:
        """Which provider is played."""
        return self._simulator.dialect

    def fault(self, name: str, **parameters: Any) -> None:
        """Let one more thing go wrong: ``provider.fault("lose_reply", operation="charge.create")``.

        Names and parameters are those of ``onecharge list faults`` and of scenario files. Raises
        ``PlanError``, which names the field, if nobody can follow it.
        """
        self.plan(*self._planned, {"fault": name, **parameters})

    def plan(self, *rules: Mapping[str, Any]) -> None:
        """Put these rules in force, each a table as in a scenario file, instead of earlier ones."""
        made = rules_from([dict(rule) for rule in rules])
        self._loop.call(lambda: self._simulator.arm(made))
        self._planned = [dict(rule) for rule in rules]

    def heal(self) -> None:
        """Let nothing go wrong any more. What has fired stays known."""
        self._loop.call(self._simulator.disarm)

    @property
    def fired(self) -> Mapping[str, int]:
        """How often each rule of the plan has fired, by its name."""
        return dict(self._loop.call(self._simulator.fired))

    def must_have_fired(self) -> None:
        """Raise ``FaultNotReached`` if a rule of the plan has never fired."""
        silent = [name for name, count in self.fired.items() if not count]
        if silent:
            raise FaultNotReached(
                f"never fired: {', '.join(silent)}. A test whose fault does not happen shows "
                "nothing; does the service make the call that the rule waits for?"
            )

    def charged(
        self,
        reference: str | None = None,
        *,
        customer: str | None = None,
        amount_minor: int | None = None,
    ) -> Charged:
        """Return the real charges of an order, about which something can be claimed.

        ``reference`` is what the service passes on to identify its order; without one, or beside
        it, the customer or the amount in minor units says which charges are meant.
        """
        sought = {
            "reference": reference,
            "customer": customer,
            "amount_minor": amount_minor,
        }
        wanted = {name: value for name, value in sought.items() if value is not None}
        ledger = self.ledger
        captures = [
            posting
            for posting in ledger
            if posting.kind == "capture"
            and all(getattr(posting, name) == value for name, value in wanted.items())
        ]
        about = ", ".join(f"{name} {value}" for name, value in wanted.items()) or "all orders"
        return Charged(about, captures, ledger)

    @property
    def ledger(self) -> tuple[Posting, ...]:
        """Every movement of money there was."""
        return self._loop.call(lambda: tuple(self._simulator.provider.ledger))

    @property
    def journal(self) -> list[dict[str, Any]]:
        """Everything that happened at the provider, in order; empty within a harness's world."""
        journal = self._simulator.journal
        return self._loop.call(journal.lines) if isinstance(journal, TimedJournal) else []

    def tell(self, url: str, secret: str, account: str | None = None) -> None:
        """Deliver every event to come to ``url``, signed with ``secret``."""
        self._loop.call(lambda: self._simulator.add_endpoint(url, secret, account))

    def advance(self, seconds: float) -> None:
        """Move the provider's clock: keys expire, redeliveries fall due. Nobody waits."""
        self._loop.call(lambda: self._simulator.advance(seconds))

    def settle(self, within_s: float = 10.0, *, acknowledged: bool = True) -> None:
        """Bring redeliveries forward until there is nothing more to tell.

        Raises ``NotSettled`` if that takes too long, or if an endpoint has not acknowledged an
        event when the provider gives up; with ``acknowledged=False`` only if it takes too long.
        In an async test whose service lives on the test's own loop, await ``settled`` instead.
        """
        self._loop.run(self._settled(within_s, acknowledged=acknowledged))

    async def settled(self, within_s: float = 10.0, *, acknowledged: bool = True) -> None:
        """Wait like ``settle``, without standing in the way of the test's own event loop."""
        await self._loop.awaited(self._settled(within_s, acknowledged=acknowledged))

    async def _settled(self, within_s: float, *, acknowledged: bool) -> None:
        hasten_at_s = time.monotonic()
        deadline_s, pause_s = hasten_at_s + within_s, within_s / _FIRST_PAUSE
        while self._simulator.undelivered():
            if time.monotonic() > deadline_s:
                raise NotSettled(f"not settled within {within_s:g} s: {self._untold()}")
            if not self._simulator.attempts_under_way() and time.monotonic() >= hasten_at_s:
                # Ever more slowly, or the schedule would be at its end before the service is.
                self._simulator.hasten_deliveries()
                hasten_at_s, pause_s = time.monotonic() + pause_s, pause_s * 2
            await asyncio.sleep(_LOOK_AGAIN_S)
        if acknowledged and (untold := self._untold()):
            raise NotSettled(f"never acknowledged: {untold}")

    def _untold(self) -> str:
        deliveries = self._simulator.provider.deliveries.by_id.values()
        untold = ", ".join(
            f"{each.event.id} ({each.event.type}) at {each.endpoint.url} "
            f"after {each.attempts} attempt(s)"
            for each in deliveries
            if not each.acknowledged and not each.forged
        )
        return redacted(untold)


@contextmanager
def running_provider(dialect: str = "generic", *, seed: int = 0) -> Iterator[RunningProvider]:
    """Play a provider on a free port of loopback, as long as the context lasts.

    Raises ``ValueError`` if there is no such dialect.
    """
    with loop_thread("onecharge-provider") as loop:
        simulator = loop.call(lambda: Simulator(dialect=dialect, seed=seed))
        loop.run(simulator.start())
        try:
            yield RunningProvider(simulator, loop)
        finally:
            loop.run(simulator.stop())
