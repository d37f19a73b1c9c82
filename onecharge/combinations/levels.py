"""Level 1 is every trouble alone, level 2 every pair of them: played, judged and counted.

Rule 1: what is found among many is looked for again: at four times the bound if it may be late,
        then alone, then many times over. What does not show again is in doubt: neither green nor
        a finding. Level 1 leaves what is little to level 2, whose first rows may show the same
        every time: with a doubt these are played even if time is up.
Rule 2: the first finding ends a level; rows are played in groups, never half a group.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from onecharge.combinations.factors import calls_in, factors_of
from onecharge.combinations.groups import arranged
from onecharge.combinations.level import Found, Level
from onecharge.combinations.playing import Judged, Playing
from onecharge.combinations.rows import Row, Space
from onecharge.combinations.writing import scenario_of
from onecharge.healing import CONFIRM
from onecharge.history.reading import read_segment
from onecharge.invariants import invariants
from onecharge.stored_run import CONTROL
from onecharge.world.world import World
from simulator.core.calls import RefundCharge

Within = Callable[[], bool]
"""Tells whether there is time for more."""

_RANKS: Final = [each.name for each in invariants()]
"""The worst that can be violated comes first."""

_FEW: Final = 3
_SEVERAL: Final = 5
"""So many of what is violated are repeated side by side, in one playing."""


class Combinations:
    """All combinations for one standing world, after its clean control."""

    def __init__(self, playing: Playing, *, tied: bool) -> None:
        self.space = playing.space
        self.playing = playing
        self._tied = tied

    @classmethod
    def of(
        cls,
        world: World,
        *,
        seed: int,
        bound_s: float,
        tied: bool = True,
        repeat: str = "",
        aside: str = "",
    ) -> "Combinations":
        """Return the combinations for a world whose clean control has passed.

        ``tied`` says whether charges name their orders: if not, every row is played by itself.
        ``aside`` is the folder of the run's in which histories lie, with a slash at its end.
        """
        control = read_segment(world.folder / f"{CONTROL}.jsonl").records
        own_database = world.postgres is not None
        made = [call for call in calls_in(control) if call.operation != RefundCharge.operation]
        space = Space(factors_of(world.service_file, made, own_database=own_database))
        playing = Playing(world, space, seed=seed, bound_s=bound_s, repeat=repeat, aside=aside)
        return cls(playing, tied=tied)

    def left_out(self) -> list[str]:
        """Return what this service cannot have, and what excludes each other, with the reasons."""
        return left_out(self.space)

    def levels(self, within: Within) -> Iterator[Level]:
        """Yield level 1 and then, if it found nothing, level 2: each about to be played.

        Play one before you ask for the next, which is made of what was seen. It takes seconds to
        make, and there is none when time is up; with a doubt there are its first rows.
        """
        singles = Level(1, self.space, self._grouped(self.space.singles()))
        yield singles
        urgent = bool(singles.doubts)
        if singles.found is None and (within() or urgent):
            space = self.space.after(singles.calls)
            cut = not within()
            groups = self._grouped([*space.pairs_in_one(), *(() if cut else space.covering())])
            pending = list(singles.pending)
            yield Level(2, space, groups, urgent=urgent, cut=cut, pending=pending)

    async def play(self, level: Level, within: Within) -> None:
        """Play a level to its end, to the first finding, or until time is up."""
        for group in level.groups:
            if not (within() or (level.urgent and not level.played)):
                break
            judged = await self.playing.together(group, f"level-{level.number}")
            level.played += len(group)
            late = [one for one in judged if one.late]
            if await self._found_in([one for one in judged if not one.late], level):
                return
            if late and await self._found_in(await self._in_time(late, within), level):
                return
            many = len(level.pending) > _SEVERAL  # whatever is broken there will show again
            if (many or level.number > 1) and await self._confirmed(level):
                return
        else:
            if await self._found_in(self.playing.came_late(), level):
                return
        if level.number > 1:
            await self._confirmed(level)

    def _grouped(self, rows: Sequence[Row]) -> Sequence[Sequence[Row]]:
        return arranged(self.space, rows, tied=self._tied)

    async def _found_in(self, judged: Sequence[Judged], level: Level) -> bool:
        """Count rows and confirm what seems to be violated; tell whether that was a finding.

        The first is tried alone, twice unless somebody dies in it, and the one with the most
        orders, which is a crowd by itself: some of it may show only among many.
        """
        violated = self._violated(judged, level)
        alone = [seen for seen in violated[1:] if seen.alone]
        crowds = sorted((s for s in violated[1:] if self._orders(s) > 1), key=self._orders)
        first = [seen for seen in violated[:1] for _ in range(1 if self._cost(seen) else 2)]
        for seen in (*first, *(alone[:1] or crowds[-1:])):
            again = seen if seen.alone else await self.playing.alone(seen.row, "alone")
            if again.kind == seen.kind:
                rivals = (one.row for one in violated if one.kind == again.kind)
                level.found = self._found(again, level, list(dict.fromkeys(rivals)))
                return True
        for seen in violated:
            says = f"{seen.kind} was violated once, among others"
            level.doubts[self._title(seen.row)] = says
        level.pending += violated
        return False

    async def _in_time(self, late: Sequence[Judged], within: Within) -> list[Judged]:
        """Return what was late, played once more.

        A few of these alone; if none of them is violated there, so many were late because they
        were many, and all others get four times the bound. After a violation they are in doubt,
        and so they are when time is up.
        """
        late, clear = sorted(late, key=self._cost), list[Judged]()
        for place, one in enumerate(late[:_FEW]):
            clear.append(await self.playing.alone(one.row, "again"))
            if clear[-1].kind is not None or not within():
                return [*clear, *(replace(each, in_doubt=True) for each in late[place + 1 :])]
        rest = [one.row for one in late[_FEW:]]
        return clear + (await self.playing.together(rest, "again", bounds=CONFIRM) if rest else [])

    def _violated(self, judged: Sequence[Judged], level: Level) -> list[Judged]:
        """Count what holds and what is in doubt, and return what seems to be violated."""
        for one in judged:
            level.note(one)
            if one.in_doubt:
                level.doubts[self._title(one.row)] = "it was late, and not played again"
            elif one.kind is None and one.verdict.reasons:
                level.doubts[self._title(one.row)] = one.verdict.reasons[0]
        violated = [one for one in judged if one.kind is not None and not one.in_doubt]
        return sorted(violated, key=self._worth_a_try)

    def _worth_a_try(self, judged: Judged) -> tuple[int, int, int]:
        """Return what sorts rows: who dies last, the worst first, and of these the simplest."""
        assert judged.kind is not None
        return self._cost(judged), _RANKS.index(judged.kind), len(judged.row.places)

    def _cost(self, judged: Judged) -> int:
        """Return how much it takes to see a row again: first come those in which nobody dies."""
        return sum(
            value.kill is not None or value.crash is not None
            for value in self.space.values(judged.row)
        )

    def _orders(self, judged: Judged) -> int:
        return max((value.orders for value in self.space.values(judged.row)), default=1)

    async def _confirmed(self, level: Level) -> bool:
        """Repeat what was violated among others only; tell whether that was a finding."""
        few_first = sorted(level.pending, key=self._orders)  # many orders take long
        several, level.pending = few_first[:_SEVERAL], few_first[_SEVERAL:]
        if not several:
            return False
        kinds = {seen.row: seen.kind for seen in several}
        played = await self.playing.by_turns(list(kinds), "repeated")
        again = [one for one in played if one.kind == kinds[one.row]]
        for seen in several:
            says = f"{seen.kind} was violated once, and not when it was repeated"
            level.doubts[self._title(seen.row)] = says
        if again:
            often = Counter(one.row for one in again)
            level.found = self._found(max(again, key=lambda one: often[one.row]), level)
        return bool(again)

    def _found(self, judged: Judged, level: Level, rivals: Sequence[Row] = ()) -> Found:
        assert judged.kind is not None
        row, others = judged.row, tuple(one for one in rivals if one != judged.row)
        scenario = scenario_of(self.space, row, "counterexample")
        return Found(scenario, judged.kind, level.played, row, judged.verdict, others)

    def _title(self, row: Row) -> str:
        return scenario_of(self.space, row, "row").file.title


def left_out(space: Space) -> list[str]:
    """Return what a service cannot have, and what excludes each other, with the reasons."""
    values = [
        f"left out: {name} ({why})"
        for factor in space.factors
        for name, why in factor.left_out.items()
    ]
    pairs = Counter(space.excluded.values())
    return values + [f"{count} pairs excluded: {why}" for why, count in pairs.items()]
