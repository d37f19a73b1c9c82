"""Rows played in a standing world and judged: side by side, or one alone.

Rule 1: every row has orders of its own each time: its name and the seed decide them.
Rule 2: a value came about if the history shows it: its faults fired, its press left. A row whose
        trouble did not come about shows nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from onecharge.combinations.factors import calls_in
from onecharge.combinations.rows import Pair, Place, Row, Space
from onecharge.combinations.staged import StagedPlay, perform_staged
from onecharge.combinations.values import Call
from onecharge.combinations.writing import planned, scenario_of
from onecharge.engine.stage import kind_of
from onecharge.engine.tapes.shrinking import MOST_REPEATS
from onecharge.history.records import Record
from onecharge.phases import Play, perform
from onecharge.scenario_file import Scenario
from onecharge.side_by_side import LIVENESS, money_of_nobody
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.world import World


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a row: the verdict on it, which of its values came about, what was called."""

    row: Row
    verdict: ScenarioVerdict
    places: frozenset[Place]
    calls: frozenset[Call]
    alone: bool = False
    in_doubt: bool = False
    """Whether it was late, and nobody looked again."""

    @property
    def kind(self) -> str | None:
        """The first invariant that it violates, None if it violates nothing."""
        return kind_of(self.verdict) if self.verdict.verdict == "violated" else None

    @property
    def pairs(self) -> set[Pair]:
        """The pairs of which both came about."""
        return {pair for pair in self.row.pairs if self.places.issuperset(pair)}

    @property
    def whole(self) -> bool:
        """Whether everything that it planned came about."""
        return self.places.issuperset(self.row.places)

    @property
    def late(self) -> bool:
        """Whether it may be that others beside it made it late, and nothing else."""
        violated = {one.name for one in self.verdict.invariants if one.judgement.violations}
        return violated <= LIVENESS if violated else bool(self.verdict.reasons)


class Playing:
    """Plays rows of a space in one world, as often as it is asked to."""

    def __init__(
        self,
        world: World,
        space: Space,
        *,
        seed: int,
        bound_s: float,
        repeat: str,
        aside: str = "",
    ) -> None:
        self.space = space
        self._aside = aside
        self._world = world
        self._seed = seed
        self._bound_s = bound_s
        self._repeat = repeat
        self._made: Counter[str] = Counter()
        self._over: list[tuple[Row, Play, int]] = []  # and how many records were judged

    def __repr__(self) -> str:
        return f"<Playing {self.space!r}, {self._made.total()} rows so far>"

    async def together(self, rows: Sequence[Row], label: str, *, bounds: int = 1) -> list[Judged]:
        """Play rows side by side and judge them one by one; ``bounds`` times the usual bound."""
        bound_s = self._bound_s * bounds
        plays = [
            StagedPlay(self._world, self._scenario(row, label), self._seed, bound_s) for row in rows
        ]
        await perform_staged(self._world, plays, self._seed)
        untied = money_of_nobody(self._world.recorder.records) if len(plays) > 1 else None
        return [self._judged(row, play, untied) for row, play in zip(rows, plays, strict=True)]

    async def by_turns(self, rows: Sequence[Row], label: str) -> list[Judged]:
        """Play rows side by side, one after the other again and again, until there are enough."""
        return await self.together(list(islice(cycle(rows), MOST_REPEATS)), label)

    async def alone(self, row: Row, label: str) -> Judged:
        """Play one row as the scenario that a file would hold, and nothing beside it."""
        scenario = self._scenario(row, label)
        play = Play(self._world, scenario, self._seed, self._bound_s, repeat=self._repeat)
        await perform(self._world, [play], self._seed)
        return replace(self._judged(row, play), alone=True)

    def _scenario(self, row: Row, label: str) -> Scenario:
        self._made[label] += 1
        return scenario_of(self.space, row, f"{self._aside}{label}-{self._made[label]:03}")

    def came_late(self) -> list[Judged]:
        """Judge again where the provider was called after the judgement: it counts as well."""
        over, self._over = self._over, []
        return [
            self._judged(row, play)
            for row, play, judged in over
            if any(record.lane == "provider" for record in play.recorder.records[judged:])
        ]

    def _judged(self, row: Row, play: Play, untied: str | None = None) -> Judged:
        records = play.recorder.records
        self._over.append((row, play, len(records)))
        play.recorder.close()  # there are hundreds of rows, and what comes later is not judged
        trouble = play.recorder.lost or untied
        verdict = judge_scenario(records, repeat=play.repeat, trouble=trouble)
        places = came_about(self.space, row, play.scenario, records)
        return Judged(row, verdict, places, frozenset(calls_in(records)))


def came_about(
    space: Space, row: Row, scenario: Scenario, records: Iterable[Record]
) -> frozenset[Place]:
    """Return the values of a row that its history shows."""
    own = f"{scenario.name}/"
    fired, pressed = set(), set()
    for record in records:
        if record.what == "fired":
            fired.add(record.value["rule"].removeprefix(own))
        elif record.kind == "invoke" and "variant" in record.value:
            pressed.add(record.value["variant"])
    return frozenset(
        place
        for place, names in planned(space, row, scenario).items()
        if {name.removeprefix(own) for name in names} <= fired
        and space.value(place).variant in {None, *pressed}
    )
