"""Rows: which values come together. Every one alone, and every pair of them in few rows. No I/O.

Rule 1: a row is one index for each factor; 0 is the boring value.
Rule 2: a pair is two values of two factors, neither boring. Some cannot be had together: they
        are excluded, counted, and no row contains one.
Rule 3: what waits for a further call comes with a trouble that was seen to bring one about.
Rule 4: the array comes from a library; what is kept of it is decided here: a value stays in a row
        only where it covers a pair that no other row has.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from covertable import make

from onecharge.combinations.values import Call, Factor, Value
from onecharge.steps import Bill
from simulator.core.rules import DELIVERY

Place = tuple[int, int]
"""A value by its factor's number and its own index."""

Pair = tuple[Place, Place]


@dataclass(frozen=True, slots=True)
class Row:
    """One value of each factor, by index."""

    indices: tuple[int, ...]

    @property
    def places(self) -> tuple[Place, ...]:
        """The values that are not boring."""
        return tuple((factor, index) for factor, index in enumerate(self.indices) if index)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two of these."""
        return tuple(combinations(self.places, 2))

    def without(self, factor: int) -> "Row":
        """Return the row with the boring value of one factor."""
        indices = list(self.indices)
        indices[factor] = 0
        return replace(self, indices=tuple(indices))

    def __repr__(self) -> str:
        return f"<Row {'-'.join(map(str, self.indices))}>"


class Space:
    """All rows that there could be of some factors.

    ``brings`` says of values that wait for a further call which troubles were seen to bring it
    about: each comes with one of these only. Without it nothing is known of that.
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        brings: Mapping[Place, frozenset[Place]] | None = None,
    ) -> None:
        self.factors = tuple(factors)
        self._brings = dict(brings or {})
        pairs = list(_all_pairs(self.factors))
        self.excluded: Mapping[Pair, str] = {
            pair: why for pair in pairs if (why := self._why_apart(pair))
        }
        self.pairs = tuple(pair for pair in pairs if pair not in self.excluded)

    def __repr__(self) -> str:
        return f"<Space of {len(self.factors)} factors, {len(self.pairs)} pairs>"

    def value(self, place: Place) -> Value:
        """Return the value at a place."""
        factor, index = place
        return self.factors[factor].values[index]

    def values(self, row: Row) -> list[Value]:
        """Return the values of a row that are not boring."""
        return [self.value(place) for place in row.places]

    def places(self) -> Iterator[Place]:
        """Yield every value that is not boring."""
        for number, factor in enumerate(self.factors):
            for index in range(1, len(factor.values)):
                yield number, index

    def row(self, chosen: Mapping[int, int]) -> Row:
        """Return the row that takes these indices, by factor, and is boring otherwise."""
        return Row(tuple(chosen.get(number, 0) for number in range(len(self.factors))))

    def allows(self, row: Row) -> bool:
        """Tell whether all of a row can be had together."""
        return not any(pair in self.excluded for pair in row.pairs) and all(
            not bringers.isdisjoint(row.places)
            for waiting, bringers in self._brings.items()
            if waiting in row.places
        )

    def singles(self) -> list[Row]:
        """Return a row for each value that is one trouble and can show something by itself."""
        return self._by_themselves(1)

    def pairs_in_one(self) -> list[Row]:
        """Return a row for each value that is two troubles by itself."""
        return self._by_themselves(2)

    def covering(self) -> list[Row]:
        """Return rows that together contain every pair which is not excluded."""
        if not self.pairs:
            return []
        there = {place for pair in self.pairs for place in pair}
        lists = {
            number: [
                0,
                *(index for index in range(1, len(factor.values)) if (number, index) in there),
            ]
            for number, factor in enumerate(self.factors)
        }
        made = make(lists, strength=2, constraints=list(self._constraints(there)))
        return self._plainer(
            Row(tuple(row[number] for number in range(len(self.factors)))) for row in made
        )

    def after(self, seen: Mapping[Place, Collection[Call]]) -> "Space":
        """Return the space in which it is known what calls were made where only this was struck."""
        brings = {
            waiting: frozenset(place for place, calls in seen.items() if not upon.isdisjoint(calls))
            for waiting in self.places()
            if (upon := self.value(waiting).upon)
        }
        return Space(self.factors, brings)

    def _by_themselves(self, troubles: int) -> list[Row]:
        values = ((place, self.value(place)) for place in self.places())
        return [
            self.row(dict([place]))
            for place, value in values
            if value.troubles == troubles and not value.upon
        ]

    def _why_apart(self, pair: Pair) -> str | None:
        for waiting, other in (pair, pair[::-1]):
            bringers = self._brings.get(waiting)
            if bringers is None or other in bringers:
                continue
            if not bringers or other[0] in {factor for factor, _ in bringers}:
                return _NO_FURTHER_CALL
        return why_apart(self.value(pair[0]), self.value(pair[1]))

    def _constraints(self, there: set[Place]) -> Iterator[dict[str, Any]]:
        """Say in the library's words what cannot be had together, and what needs something.

        It asks each of these over and over, so they are few: one for a value and a factor.
        """
        apart = [pair for pair in self.excluded if there.issuperset(pair)]
        often = Counter(place for pair in apart for place in pair)
        without: defaultdict[tuple[Place, int], set[int]] = defaultdict(set)
        for pair in apart:
            place, (factor, index) = sorted(pair, key=lambda one: -often[one])
            without[place, factor].add(index)
        for (place, factor), indices in without.items():
            others = set(range(len(self.factors[factor].values))) - indices
            yield _either(_is_not(place), _is_one_of(factor, others))
        for waiting, bringers in self._brings.items():
            if waiting in there:
                by_factor: defaultdict[int, set[int]] = defaultdict(set)
                for factor, index in bringers:
                    by_factor[factor].add(index)
                with_one = (_is_one_of(factor, indices) for factor, indices in by_factor.items())
                yield _either(_is_not(waiting), *with_one)

    def _plainer(self, rows: Iterable[Row]) -> list[Row]:
        """Make values boring that cover nothing of their own, the dearest first, and drop rows."""
        kept = list(dict.fromkeys(rows))
        count = Counter(pair for row in kept for pair in row.pairs)
        for number in sorted(range(len(self.factors)), key=self._dearness):
            for place, row in enumerate(kept):
                mine = [pair for pair in row.pairs if any(f == number for f, _ in pair)]
                plainer = row.without(number)
                if plainer != row and self.allows(plainer) and all(count[p] > 1 for p in mine):
                    count.subtract(mine)
                    kept[place] = plainer
        return [row for row in kept if row.pairs]

    def _dearness(self, number: int) -> int:
        return _DEAREST.index(self.factors[number].name)


_DEAREST: Final = ("death", "retry", "delivery", "concurrency", "customer", "call")
"""What is made boring first: who dies has to be started again."""

_NO_FURTHER_CALL: Final = "no further call was seen to follow"


def _either(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    return {"operator": "or", "conditions": conditions}


def _is_one_of(factor: int, indices: Iterable[int]) -> dict[str, Any]:
    return {"operator": "in", "left": factor, "values": sorted(indices)}


def _is_not(place: Place) -> dict[str, Any]:
    return {"operator": "ne", "left": place[0], "value": place[1]}


def why_apart(one: Value, other: Value) -> str | None:
    """Say why two values cannot be had together, or None if they can."""
    for first, second in ((one, other), (other, one)):
        for apart, why in _APART:
            if apart(first, second):
                return why
    return None


_APART: Final[Sequence[tuple[Callable[[Value, Value], bool], str]]] = (
    (lambda one, _: one.lone, "what takes long, or many orders or stories, is tried alone"),
    (
        lambda one, other: one.paced and other.at_once > 1,
        "whoever presses around the end of a request presses twice already",
    ),
    (
        lambda one, other: _is_billed(one) and (other.at_once > 1 or _waits_for_a_press(other)),
        "whoever is billed presses nothing, and is answered nothing",
    ),
    (
        lambda one, other: _is_billed(one) and any(t["fault"] == "decline" for t in other.faults),
        "a bill that was declined is not due any more",
    ),
    (
        lambda one, other: one.ends and _strikes_a_call(other),
        "whoever is declined at once has no further trouble with the provider",
    ),
    (
        lambda one, other: one.variant == "new_key" and _leaves_open(other),
        "whoever takes another key knows for certain how the first one ended",
    ),
    (
        lambda one, other: one.paced and other.crash is not None,
        "how long a request takes cannot be measured while the database is away",
    ),
)


def _is_billed(value: Value) -> bool:
    return any(isinstance(step, Bill) for step in value.steps)


def _strikes_a_call(value: Value) -> bool:
    return any(table["operation"] != DELIVERY for table in value.faults) and not value.crash


def _waits_for_a_press(value: Value) -> bool:
    return value.kill is not None and value.kill.at in {"request_received", "answered"}


def _leaves_open(value: Value) -> bool:
    return bool(value.kill or value.crash) or value.at_once > 1


def _all_pairs(factors: Sequence[Factor]) -> Iterator[Pair]:
    for (one, first), (two, second) in combinations(enumerate(factors), 2):
        for index in range(1, len(first.values)):
            for other in range(1, len(second.values)):
                yield (one, index), (two, other)
