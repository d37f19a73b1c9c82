"""A case is a history put in order for the judge: run facts, stories, what could not be tied.

Rule 1: a case concludes nothing; that is for the invariants.
Rule 2: a history that ends early is a case as well, with less in it.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final, Literal

from onecharge.history.attribution import Attribution
from onecharge.history.story import Call, Charge, Event, Firing, OrderStory

CAPABILITIES: Final = frozenset(
    {
        "webhooks",
        "read_back",
        "effects",
        "restartable",
        "refunds",
        "tenants",
        "upstream_keys",
        "lookups",
        "reconciles",
    }
)


Claim = Literal["provider_ignores_keys", "bad_news_before_good_news", "one_charge_per_order"]
"""What a service can say that it does beyond what is usual: it is then held to it.

An order is paid once under any number of keys, or also where the provider honours none; or it is
known to be paid once the provider says so, though it said before that it was not.
"""

CONFIRMED_AT: Final = 4
"""A liveness finding counts if it still stands at so many times the bound."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the run was meant to be.

    ``absent`` are the capabilities declared absent, ``rules`` the names in the plan, ``claims``
    what the service says that it does beyond what is usual, ``claimed`` what of that the scenario
    asks for, ``exercises`` the invariants that it was planned to put to the test beside those
    that every run does.
    """

    scenario: str = ""
    seed: int | None = None
    fair: bool = True
    absent: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    claims: frozenset[str] = frozenset()
    exercises: frozenset[str] = frozenset()
    claimed: frozenset[str] = frozenset()

    @property
    def can_violate(self) -> bool:
        """Whether findings count: a fair scenario, or one that the service claims to withstand.

        It claims that by the scenario's name, or the scenario asks for nothing that it does not.
        """
        asked_for = bool(self.claimed) and self.claimed <= self.claims
        return self.fair or self.scenario in self.claims or asked_for


@dataclass(frozen=True, slots=True)
class Convergence:
    """How healing went: when all agreed, or what was still missing at the bound."""

    index: int
    after_s: float
    bound_s: float
    missing: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether something was missing still at so many times the bound that it counts."""
        return self.after_s >= CONFIRMED_AT * self.bound_s


@dataclass(slots=True)
class Case:
    """All that the history tells. ``sent`` are the orders that some client sent.

    ``unattributed`` are real charges of no known order, ``expiries`` for each order the places from
    which on the service may forget its keys of before, ``hosts`` those whose records have no common
    order.
    """

    run: Run = field(default_factory=Run)
    phases: dict[str, int] = field(default_factory=dict)
    orders: dict[str, OrderStory] = field(default_factory=dict)
    sent: list[OrderStory] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    charges: dict[str, Charge] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    firings: list[Firing] = field(default_factory=list)
    crashes: list[int] = field(default_factory=list)
    attribution: Attribution = field(default_factory=lambda: Attribution({}, ()))
    unattributed: tuple[Charge, ...] = ()
    converged: Convergence | None = None
    overdue: Convergence | None = None
    expiries: dict[str, list[int]] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    ledger_trouble: list[str] = field(default_factory=list)
    began_ns: int = 0
    ended_ns: int = 0

    @property
    def real_charges(self) -> list[Charge]:
        return [charge for charge in self.charges.values() if charge.captured is not None]

    @property
    def healed(self) -> bool:
        """Whether faults stopped and healing began: before that, liveness is not judged."""
        return "heal" in self.phases

    @property
    def read_back(self) -> bool:
        """Whether the run came to its end, where the service was asked what it believes."""
        return "read" in self.phases

    def life_at(self, place: int, story: OrderStory) -> int:
        """Return how often an order's key has expired by a place: which life of it that is."""
        return bisect_left(self.expiries.get(story.order, ()), place) if self.expiries else 0

    @property
    def at_rest(self) -> bool:
        """Whether the service was asked after everything had settled, or had had its time to."""
        overdue = self.overdue
        waited = overdue is not None and overdue.confirmed
        return self.read_back and (overdue is None or self.converged is not None or waited)

    @property
    def duration_s(self) -> float:
        return max(0, self.ended_ns - self.began_ns) / 1e9
