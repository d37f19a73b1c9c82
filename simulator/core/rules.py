"""When something goes wrong: a rule places a fault, a plan is all of the rules.

Rule 1: a rule is data and never changes; the plan counts.
Rule 2: rules fire in the order of the plan, as many as match.
Rule 3: rules that cannot match cost nothing: they are found by seam, operation and order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from simulator.core.faults import Fault
from simulator.core.journal import FAULT, Entry
from simulator.core.messages import Seam

ANY: Final = "*"
DELIVERY: Final = "delivery"

_SEAMS: Final[tuple[Seam, ...]] = ("on_receive", "before_commit", "after_commit", "on_delivery")


@dataclass(frozen=True, slots=True)
class Rule:
    """One fault and when it strikes.

    ``operation`` is a call's operation, or ``delivery``, or ``delivery.`` and an event type, or
    ``*``. ``order`` is the merchant's reference, ``orders`` are several: what concerns none of
    them, or no order at all, is out of reach. ``nth`` counts, from 1, the calls that the fault
    would have bent; ``times`` bounds how often it does. The window from ``after_s`` until before
    ``until_s`` is virtual time since the plan was armed.
    """

    fault: Fault
    name: str
    operation: str = ANY
    order: str | None = None
    nth: int | None = None
    times: int | None = None
    probability: float = 1.0
    after_s: float = 0.0
    until_s: float = float("inf")
    orders: tuple[str, ...] = ()

    @property
    def reach(self) -> tuple[str | None, ...]:
        """The orders that it can strike; None stands for any, and for none at all."""
        return (self.order,) if self.order is not None else self.orders or (None,)

    def struck(
        self,
        seam: Seam,
        about: dict[str, str],
        *,
        order: str | None,
        tenant: str,
        key: str | None = None,
        cause: int | None,
    ) -> Entry:
        """Return the journal entry that says that this rule has fired."""
        what = {"what": "fired", "rule": self.name, "fault": self.fault.name, "seam": seam}
        return Entry(FAULT, "effect", what | about, order, tenant, key, cause)


@dataclass(slots=True)
class Armed:
    """A rule of the plan, with what it has seen and done."""

    rule: Rule
    place: int
    seen: int = 0
    fired: int = 0


def asked_for(asked: Iterable[Armed], seam: Seam) -> Iterator[Armed]:
    """Yield the rules which a request brought with it and which have a say at this seam."""
    return (armed for armed in asked if armed.rule.fault.bends(seam))


class Plan:
    """All the rules, and how often each has fired. A plan can be armed anew, and stopped."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._since_s = 0.0
        self._armed: dict[str, Armed] = {}
        self._index: dict[tuple[Seam, str, str | None], list[Armed]] = {}
        self.seams: frozenset[Seam] = frozenset()  # where any rule could strike

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules armed last, in order, even when they are stopped by now."""
        return tuple(armed.rule for armed in self._armed.values())

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule has fired, by name; a rule that never did counts 0."""
        return {name: armed.fired for name, armed in self._armed.items()}

    @property
    def in_force(self) -> bool:
        """Whether any rule could still fire."""
        return bool(self._index)

    def arm(self, rules: Iterable[Rule], now: float = 0.0, *, seed: int | None = None) -> None:
        """Put these rules in force instead of the present ones; their windows count from now.

        With a ``seed``, chance begins anew, so that one plan repeats after whatever came before.
        """
        rules = tuple(rules)
        armed = {rule.name: Armed(rule, place) for place, rule in enumerate(rules)}
        if len(armed) != len(rules):
            raise ValueError("two rules of one plan have the same name")
        self.stop()
        if seed is not None:
            self._chance = Random(seed)
        self._armed = armed
        self._since_s = now
        for each in armed.values():
            self._put_in_force(each)

    def add(self, rule: Rule, now: float = 0.0) -> str:
        """Put one more rule in force, after the present ones, and return its name.

        A name that is taken gets a number. Where no rule is in force, this is a plan of its own.
        """
        if not self.in_force:
            self.arm([rule], now)
            return rule.name
        name, taken = rule.name, 1
        while name in self._armed:
            taken += 1
            name = f"{rule.name}-{taken}"
        armed = self._armed[name] = Armed(replace(rule, name=name), len(self._armed))
        self._put_in_force(armed)
        return name

    def reseed(self, seed: int) -> None:
        """Let chance begin anew; the rules in force stay as they are."""
        self._chance = Random(seed)

    def stop(self) -> None:
        """Let no rule fire any more. What has fired stays known."""
        self._index = {}
        self.seams = frozenset()

    def matching(
        self, seam: Seam, operation: str, order: str | None, alias: str | None = None
    ) -> Iterator[Armed]:
        """Yield the rules for this seam, operation and order, in the order of the plan.

        ``operation`` is that of a call, or ``delivery.`` and the type of the event; ``alias`` is
        another name for the same.
        """
        if seam not in self.seams:
            return
        index = self._index
        operations = (operation, DELIVERY, ANY) if seam == "on_delivery" else (operation, ANY)
        if alias is not None and alias != operation:
            operations = (alias, *operations)
        orders = (None,) if order is None else (None, order)
        found = [
            armed
            for wanted in operations
            for whose in orders
            for armed in index.get((seam, wanted, whose), ())
        ]
        for armed in sorted(found, key=lambda armed: armed.place):
            if self._index is not index:  # stopped or armed anew while a call was held here
                return
            yield armed

    def fires(self, armed: Armed, now: float) -> bool:
        """Count one opportunity of a rule, and tell whether it takes it."""
        rule = armed.rule
        if not rule.after_s <= now - self._since_s < rule.until_s:
            return False
        armed.seen += 1
        if rule.nth is not None and armed.seen != rule.nth:
            return False
        if rule.times is not None and armed.fired >= rule.times:
            return False
        if rule.probability < 1.0 and self._chance.random() >= rule.probability:
            return False
        armed.fired += 1
        return True

    def _put_in_force(self, armed: Armed) -> None:
        """Let a rule be found by every seam that its fault bends."""
        rule = armed.rule
        for seam in _SEAMS:
            if rule.fault.bends(seam):
                for order in rule.reach:
                    self._index.setdefault((seam, rule.operation, order), []).append(armed)
                self.seams |= {seam}
