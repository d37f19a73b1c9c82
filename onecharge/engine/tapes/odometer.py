"""The odometer: every run there is, by the number of its deviations from the boring one. No I/O.

Rule 1: a run is planned once: its parent is the one without its last deviation.
Rule 2: what a run asked at its end, and no run before it, is part of what comes next.
Rule 3: a level begins when the one below is complete.
Rule 4: a run that goes another way than its parent is tried again; if it never follows, what
        lies behind it is not enumerated, and nothing is called exhausted.
Rule 5: what lies behind a run that came to the same as one before it comes last in its level. It
        is postponed and never dropped: what a service keeps in its memory is not seen.
Rule 6: of chains that are alike and have not begun, only the first is let begin. What the others
        would do is the same under other names: such renamings are left out, and counted.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final

from onecharge.engine.tapes.chooser import Alternatives, Asked, lane_of


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that the odometer asks for: the deviations, and what led to the last of them.

    ``expected`` is what the parent run asked up to there: if this run is asked other things,
    the service didn't repeat itself.
    """

    deviations: tuple[tuple[int, int], ...] = ()
    expected: tuple[Asked, ...] = field(default=(), repr=False)

    def choose_from(self) -> "_Following":
        """Return the chooser for one run of it."""
        return _Following(dict(self.deviations))

    def went_another_way(self, asked: Sequence[Asked]) -> bool:
        """Tell whether a run was asked other things, before or at its last deviation."""
        heard = [one.question for one in asked[: len(self.expected)]]
        return heard != [one.question for one in self.expected]


class _Following:
    def __init__(self, deviations: dict[int, int]) -> None:
        self._deviations = deviations
        self._place = 0

    def choose(self, kind: str, alternatives: Alternatives) -> int:  # noqa: ARG002 - by place
        index = self._deviations.get(self._place, 0)
        self._place += 1
        return index if index < len(alternatives) else 0


_ATTEMPTS: Final = 3


class Odometer:
    """Every run with no deviation, then every one with a single one, with two, up to a bound.

    ``alike`` are chains that are the same but for their names.

    Ask ``next``, make the run with ``plan.choose_from()``, say ``done`` with what it asked.
    """

    def __init__(self, bound: int | None = None, *, alike: Collection[str] = ()) -> None:
        self.bound = bound
        self._alike = frozenset(alike)
        self.level = 0
        self.runs = 0
        self.astray = 0
        self.levels: list[int] = []  # how many runs each complete level had
        self._frontier: list[Planned] = [Planned()]
        self._parents: list[tuple[Planned, tuple[Asked, ...]]] = []
        self._postponed: list[tuple[Planned, tuple[Asked, ...]]] = []
        self._attempts = 0
        self._at_level = 0

    def __repr__(self) -> str:
        return f"<Odometer at level {self.level}, {self.runs} runs, {self.astray} astray>"

    @property
    def exhausted(self) -> bool:
        """Whether every run there is was made: no bound cut anything off, and none went astray."""
        return not (self._frontier or self._parents or self._postponed or self.astray)

    @property
    def ended(self) -> bool:
        """Whether nothing within the bound is left to be made."""
        return self.next() is None

    def next(self) -> Planned | None:
        """Return the run to make now; None when there is none within the bound."""
        while not self._frontier:
            if self._at_level:
                self.levels.append(self._at_level)
                self._at_level = 0
            parents = [*self._parents, *self._postponed]
            self._parents, self._postponed = [], []
            if not parents:
                return None
            if self.level == self.bound:
                self._parents = parents
                return None
            self.level += 1
            self._frontier = [
                child
                for plan, asked in reversed(parents)
                for child in _children(plan, asked, self._alike)
            ]
        return self._frontier[-1]

    def done(self, asked: Sequence[Asked], *, seen_before: bool = False) -> bool:
        """Take in what the planned run asked; False if it is to be made once more.

        ``seen_before`` says that another run came to the same.
        """
        plan = self._frontier[-1]
        self.runs += 1
        self._attempts += 1
        astray = plan.went_another_way(asked)
        if astray and self._attempts < _ATTEMPTS:
            return False
        self._frontier.pop()
        self._attempts = 0
        self._at_level += 1
        if astray:
            self.astray += 1
        elif any(_children(plan, tuple(asked), self._alike)):
            (self._postponed if seen_before else self._parents).append((plan, tuple(asked)))
        return True


def _first_free(plan: Planned) -> int:
    return plan.deviations[-1][0] + 1 if plan.deviations else 0


def renamings(asked: Sequence[Asked], alike: Collection[str]) -> int:
    """Return how many runs a run stands for: itself, and the same under other names."""
    return prod(
        len(_fresh(asked, place, alike))
        for place, one in enumerate(asked)
        if one.alternatives[one.index] in _fresh(asked, place, alike)
    )


def _fresh(asked: Sequence[Asked], place: int, alike: Collection[str]) -> list[str]:
    """Return the beginnings of chains that are alike at a place, of those that have not begun."""
    begun = {lane_of(one.alternatives[one.index]) for one in asked[:place]}
    return sorted(
        name
        for name in asked[place].alternatives
        if lane_of(name) in alike and lane_of(name) not in begun
    )


def _children(plan: Planned, asked: tuple[Asked, ...], alike: Collection[str]) -> Iterator[Planned]:
    """Yield the runs with one deviation more, the last of them to be made first."""
    for place in range(len(asked) - 1, _first_free(plan) - 1, -1):
        left_out = _fresh(asked, place, alike)[1:]
        for index in range(len(asked[place].alternatives) - 1, 0, -1):
            if asked[place].alternatives[index] not in left_out:
                yield Planned((*plan.deviations, (place, index)), asked[: place + 1])
