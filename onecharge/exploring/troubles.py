"""Every single trouble and every pair of them within a budget, and what to do about a finding.

Rule 1: level 2 comes after level 1, which tells it what calls there are, and has the time that
        this left over. A level that there was no time for says so.
Rule 2: the rows' histories lie apart: what counts of a finding is the smallest combination, played
        once more as the scenario that its file holds; or the history in which it was found, where
        it does not show again, or nothing could be made smaller and it took a long wait to see.
Rule 3: what could not be settled is in doubt, and a run with doubts is never green.
"""

import asyncio
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from onecharge.combinations.level import Level
from onecharge.combinations.levels import Combinations, Within
from onecharge.combinations.smallest import Smallest, smallest, surest
from onecharge.combinations.writing import as_toml
from onecharge.engine.tapes.shrinking import MOST_REPEATS
from onecharge.explored import Clock, Discovery, Part, Parts
from onecharge.exploring.batches import BATCHES
from onecharge.exploring.exploration import Budget
from onecharge.exploring.kept import FILE, kept
from onecharge.phases import Play, perform
from onecharge.scenario_file import Scenario
from onecharge.side_by_side import LIVENESS
from onecharge.targets import Target
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.world import World

ASIDE: Final = f"{BATCHES}rows/"
AS_FOUND: Final = f"{BATCHES}troubles-as-found"
"""The history that tells of a finding whose smallest combination did not show it again."""

_LEVELS: Final = {1: "every single trouble", 2: "every pair of troubles"}
_FEW: Final = 3


class Troubles:
    """Plays both levels in a world without gates; ``verdicts`` are those on what was found."""

    gated: Final = False

    def __init__(
        self,
        wanted: Target,
        seed: int,
        budget: Budget,
        parts: Parts,
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self.verdicts: list[ScenarioVerdict] = []
        self._wanted = wanted
        self._seed = seed
        self._budget = budget
        self._parts = parts
        self._clock = clock

    @property
    def names(self) -> list[str]:
        """What is to be explored."""
        return list(map(_name, _LEVELS))

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:
        """Play the levels until a violation, or the end of the time."""
        self._parts.begin()
        if self._parts.found:
            self.leave_out()
            return
        (world.folder / ASIDE).mkdir(parents=True)
        ends_s = self._clock() + self._budget.seconds
        combinations = Combinations.of(
            world, seed=self._seed, bound_s=bound_s, tied=tied, aside=ASIDE
        )

        def within() -> bool:
            return self._clock() < ends_s

        left = dict(_LEVELS)
        for level in combinations.levels(within):
            with self._parts.listener.playing(left.pop(level.number)):
                await self._play(combinations, level, within)
            self._parts.add(await self._told(world, combinations, level, bound_s))
        self._leave_out(left)

    def leave_out(self) -> None:
        """Say that nothing of it was begun, since there is a violation already."""
        self._leave_out(_LEVELS)

    def _leave_out(self, levels: Mapping[int, str]) -> None:
        for number, what in levels.items():
            self._parts.add_unexplored(_name(number), what)

    async def _play(self, combinations: Combinations, level: Level, within: Within) -> None:
        try:
            await combinations.play(level, within)
        except asyncio.CancelledError:
            self._parts.add(replace(_part(level), doubt="interrupted"))
            raise

    async def _told(
        self, world: World, combinations: Combinations, level: Level, bound_s: float
    ) -> Part:
        """Return what is told of a level that was played."""
        if level.found is None:
            return _part(level)
        seconds = self._parts.seconds
        found = await self._shown(world, combinations, level, bound_s)
        return replace(_part(level), found=replace(found, seconds=seconds))

    async def _shown(
        self, world: World, combinations: Combinations, level: Level, bound_s: float
    ) -> Discovery:
        """Make what was found small, play it once for the report, and write it down."""
        assert level.found is not None
        kind = level.found.kind
        self._parts.listener.step(f"{kind} violated in level {level.number}: shrinking")
        ends_s = self._clock() + self._budget.seconds
        found = await surest(combinations.playing, level.found)
        small = await smallest(combinations.playing, found, within=lambda: self._clock() < ends_s)
        again = [*self._wanted.words, "--seed", str(self._seed)]
        repeat = shlex.join(["onecharge", "run", str(self._parts.folder / FILE), *again])
        # Where it took a long wait to see it, to wait once more adds nothing.
        seen = kind in LIVENESS and small.row == level.found.row
        scenario = "" if seen else await self._played(world, small, bound_s, repeat, ends_s)
        if not scenario:
            verdict = replace(level.found.verdict, repeat=repeat)
            self.verdicts.append(told_by_its_row(world.folder, verdict))
            scenario = AS_FOUND
        values = combinations.space.values(small.row)
        discovery = Discovery(
            kind=kind,
            scenario=scenario,
            after=level.found.after,
            failed=small.shrunk.failed,
            of=small.shrunk.of,
            steps=(_pressed(small.scenario), *(value.in_words for value in values)),
            repeat=repeat,
            minimal=small.shrunk.minimal,
        )
        title = f"{small.scenario.file.title}: {kind} is violated"
        return kept(discovery, self._parts.folder, as_toml(small.scenario), title, again)

    async def _played(
        self, world: World, small: Smallest, bound_s: float, repeat: str, ends_s: float
    ) -> str:
        """Play the smallest combination till it shows; return the name of its history if it did.

        It is played a few times, whatever the time is.
        """
        for number in range(1, MOST_REPEATS + 1):
            name = f"{BATCHES}troubles-counterexample-{number}"
            scenario = Scenario(name, small.scenario.path, small.scenario.file)
            play = Play(world, scenario, self._seed, bound_s, repeat=repeat)
            await perform(world, [play], self._seed)
            verdict = judge_scenario(
                play.recorder.records, repeat=repeat, trouble=play.recorder.lost
            )
            self.verdicts.append(verdict)
            if verdict.orders_violating(small.shrunk.kind):
                return verdict.name
            if number >= _FEW and self._clock() >= ends_s:
                break
        return ""


def told_by_its_row(folder: Path, verdict: ScenarioVerdict) -> ScenarioVerdict:
    """Have the history of a row tell of what was found in it, since it did not show again.

    It lies beside the others from now on, and the verdict on it has its name.
    """
    shutil.copyfile(folder / f"{verdict.name}.jsonl", folder / f"{AS_FOUND}.jsonl")
    return replace(verdict, name=AS_FOUND)


def _name(number: int) -> str:
    return f"level-{number}"


def _part(level: Level) -> Part:
    doubt = f"{len(level.doubts)} combination(s) are in doubt" if level.doubts else ""
    return Part(
        _name(level.number),
        _LEVELS[level.number],
        runs=level.played,
        complete=level.complete,
        says=tuple(level.sentences()),
        doubt=doubt,
    )


def _pressed(scenario: Scenario) -> str:
    """Say what the customers of a combination do, as the first of its steps."""
    orders, presses = scenario.file.orders, scenario.file.customer.presses
    who = "a customer presses" if orders == 1 else f"{orders} customers press"
    return f"{who} Pay" + f", {presses} requests at once" * (presses > 1)
