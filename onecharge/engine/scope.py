"""A scope: what is run over and over, in every order, until all of them are known.

Rule 1: a scope is data. How a run of it is made, the stage knows; what it is about, nobody else.
Rule 2: a scope is small: two requests, two copies of a webhook. Most races need no more.
Rule 3: what a service cannot have at all is said beforehand, in one sentence, and never explored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from simulator.core.rules import DELIVERY, Rule
from simulator.faults.redeliver import Redeliver

if TYPE_CHECKING:
    from onecharge.service_file import ServiceFile

PAST_THE_LEASE: Final = 1.2
"""A request that comes when a lease has run out waits for so many times the lease."""


@dataclass(frozen=True, slots=True)
class Scope:
    """So many presses of one order with one key, and what else takes part.

    ``copies`` is how often each of the order's events is delivered, all at once. With
    ``outlives_a_lease`` the last press leaves only when the service's lease has run out for
    whoever was under way before. ``late_probes`` are for services whose stores have no gate: the
    second press is swept around the end of the first (``late_probes.py``).
    """

    what: str
    presses: int
    webhooks: bool = False
    copies: int = 1
    outlives_a_lease: bool = False
    late_probes: bool = False
    paces: bool = False
    """Whether nothing is held, and the store and the provider are quick or slow (``paces.py``)."""
    troubles: bool = False
    """Whether things go wrong with the first press, which is then made once more."""
    deaths: bool = False
    """Whether the service dies while the first press is under way."""
    deviations: int | None = None
    """So many of them at most, unless somebody asks for more: there is no end to trouble."""
    name: str = ""
    """Its public name, which is that of its file."""

    @property
    def size(self) -> int:
        """How much takes part and how long it takes: a measure for what comes first.

        A trouble takes a retry, whoever dies has to be started again.
        """
        others = self.outlives_a_lease + self.sweeps + 2 * self.troubles + 3 * self.deaths
        return self.presses + self.webhooks * self.copies + others

    @property
    def sweeps(self) -> bool:
        """Whether the second press is swept along the first, with nothing held for it."""
        return self.late_probes or self.paces

    def why_not(self, file: "ServiceFile") -> str | None:
        """Tell why a service cannot be explored so; None if it can."""
        return next(self._whys_not(file), None)

    def _whys_not(self, file: "ServiceFile") -> Iterator[str]:
        has_a_gate = file.database is not None or file.redis is not None
        if self.webhooks and file.webhook is None:
            yield "the service takes no webhooks"
        if self.late_probes and has_a_gate:
            yield "its store has a gate, where requests are held at every step"
        if self.paces and not has_a_gate:
            yield "its store has no gate, so how quick it is cannot be chosen"
        if self.deaths and not file.capabilities.restartable:
            yield "the service cannot be killed and started again"
        if self.outlives_a_lease:
            given_up_s = min(file.provider.timeout_s, file.timing.answers_within_s)
            if file.provider.lease_s is None:
                yield "the service file declares no provider.lease_s"
            elif PAST_THE_LEASE * file.provider.lease_s >= given_up_s:
                yield "the lease is not shorter than the time after which calls are given up"

    def rules(self, orders: Sequence[str]) -> list[Rule]:
        """Return what the provider is to do about these orders beside what is parked."""
        if self.copies == 1:
            return []
        copied = Redeliver(copies=self.copies, mode="concurrent")
        return [Rule(copied, f"{self.copies} copies", operation=DELIVERY, orders=(*orders,))]

    def waits_s(self, press: int, file: "ServiceFile") -> float:
        """Return for how long nothing happens before the press of this number, from 1."""
        if self.outlives_a_lease and press == self.presses:
            assert file.provider.lease_s is not None, self.why_not(file)
            return PAST_THE_LEASE * file.provider.lease_s
        return 0.0
