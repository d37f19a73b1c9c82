"""When something goes wrong: a rule places a fault, a plan is all of the rules.

Rule 1: a rule is data and never changes; the plan counts.
Rule 2: rules fire in the order of the plan, as many as match.
Rule 3: rules that cannot match cost nothing: they are found by seam, operation and order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from random import Random
from typing import Final

from simulator.core.faults import Fault
from simulator.core.messages import Seam

ANY: Final = "*"
DELIVERY: Final = "delivery"

_SEAMS: Final[tuple[Seam, ...]] = ("on_receive", "before_commit", "after_commit", "on_delivery")


@dataclass(frozen=True, slots=True)
class Rule:
    """One fault and when it strikes.

    ``operation`` is a call's operation, or ``delivery``, or ``delivery.`` and an event type, or
    ``*``. ``order`` is the merchant's reference. ``nth`` counts, from 1, the calls that the fault
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


@dataclass(slots=True)
class Armed:
    """A rule in force, with what it has seen and done."""

    rule: Rule
    place: int
    seen: int = 0
    fired: int = 0


class Plan:
    """All the rules in force, and how often each has fired."""

    def __init__(self, rules: Iterable[Rule] = (), *, chance: Random, since_s: float = 0.0) -> None:
        self.rules = tuple(rules)
        self.in_force = True
        self._chance = chance
        self._since_s = since_s
        self._armed = {rule.name: Armed(rule, place) for place, rule in enumerate(self.rules)}
        if len(self._armed) != len(self.rules):
            raise ValueError("two rules of one plan have the same name")
        self._index: dict[tuple[Seam, str, str | None], list[Armed]] = {}
        for armed in self._armed.values():
            for seam in _SEAMS:
                if armed.rule.fault.bends(seam):
                    place = (seam, armed.rule.operation, armed.rule.order)
                    self._index.setdefault(place, []).append(armed)
        self._seams = {seam for seam, _, _ in self._index}

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule has fired, by name; a rule that never did counts 0."""
        return {name: armed.fired for name, armed in self._armed.items()}

    def stop(self) -> None:
        """End it: no rule fires any more. What has fired stays known."""
        self.in_force = False

    def matching(self, seam: Seam, operation: str, order: str | None) -> Iterator[Armed]:
        """Return the rules for this seam, operation and order, in the order of the plan."""
        if seam not in self._seams:
            return iter(())
        operations = {operation, ANY, DELIVERY} if seam == "on_delivery" else {operation, ANY}
        found = [
            self._index.get((seam, wanted, whose), ())
            for wanted in operations
            for whose in {order, None}
        ]
        return merge(*found, key=attrgetter("place"))

    def fires(self, armed: Armed, now: float) -> bool:
        """Count one opportunity of this rule, and tell whether it takes it."""
        rule = armed.rule
        if not self.in_force or not rule.after_s <= now - self._since_s < rule.until_s:
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
