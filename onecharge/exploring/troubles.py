"""Every single trouble or every pair of them within a budget, and what to do about a finding.

Rule 1: level 2 comes after level 1, which tells it what calls there are, and has the time that
        this left over. A level that there was no time for says so.
Rule 2: the rows' histories lie apart: what counts of a finding is the smallest combination, played
        once more as the scenario that its file holds.
Rule 3: what could not be settled is in doubt, and a run with doubts is never green.
"""

import asyncio
import shlex
import shutil
import time
from dataclasses import replace
from typing import Final

from onecharge.combinations.levels import Combinations, Found, Level
from onecharge.combinations.smallest import Smallest, smallest
from onecharge.combinations.writing import as_toml
from onecharge.engine.tapes.shrinking import MOST_REPEATS
from onecharge.explored import Clock, Discovery, Part, Parts
from onecharge.exploring.batches import BATCHES
from onecharge.exploring.exploration import Budget
from onecharge.exploring.kept import FILE, kept
from onecharge.phases import Play, perform
from onecharge.scenario_file import Scenario
from onecharge.targets import Target
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.world import World

ASIDE: Final = f"{BATCHES}rows/"

_FEW: Final = 3


class Troubles:
    """Plays a level in a world without gates: level 2 if it comes ``after`` level 1.

    ``verdicts`` are those on what was found; ``left_s`` is what it left over of its time.
    """

    gated: Final = False

    def __init__(
        self,
        wanted: Target,
        seed: int,
        budget: Budget,
        parts: Parts,
        *,
        after: "Troubles | None" = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.verdicts: list[ScenarioVerdict] = []
        self._wanted = wanted
        self._seed = seed
        self._budget = budget
        self._parts = parts
        self._after = after
        self._clock = clock
        self.level: Level | None = None
        self.left_s = budget.seconds

    @property
    def names(self) -> list[str]:
        """What is to be explored."""
        return ["level-1" if self._after is None else "level-2"]

    @property
    def _what(self) -> str:
        return "every single trouble" if self._after is None else "every pair of troubles"

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:
        """Play the level until a violation, or the end of the time."""
        self._parts.begin()
        if self._parts.found:
            self.leave_out()
            return
        [name] = self.names
        aside = f"{ASIDE}{name}/"
        (world.folder / aside).mkdir(parents=True)
        seconds = self._budget.seconds if self._after is None else self._after.left_s
        ends_s = self._clock() + seconds
        combinations = Combinations.of(
            world, seed=self._seed, bound_s=bound_s, tied=tied, aside=aside
        )
        self.level = level = self._level_of(combinations)
        try:
            with self._parts.listener.playing(self._what):
                await combinations.play(level, lambda: self._clock() < ends_s)
        except asyncio.CancelledError:
            self._parts.add(replace(self._part(level), doubt="interrupted"))
            raise
        self.left_s = max(0.0, ends_s - self._clock())
        part = self._part(level)
        if level.found is not None:
            seconds = self._parts.seconds
            found = await self._shown(world, combinations, level, bound_s)
            part = replace(part, found=replace(found, seconds=seconds))
        self._parts.add(part)

    def leave_out(self) -> None:
        """Say that nothing of it was begun, since there is a violation already."""
        [name] = self.names
        self._parts.add_unexplored(name, self._what)

    def _level_of(self, combinations: Combinations) -> Level:
        if self._after is None:
            return combinations.singles()
        seen = self._after.level
        return combinations.pairs(combinations.singles() if seen is None else seen)

    def _part(self, level: Level) -> Part:
        doubt = f"{len(level.doubts)} combination(s) are in doubt" if level.doubts else ""
        return Part(
            self.names[0],
            self._what,
            runs=level.played,
            complete=level.complete,
            says=tuple(level.sentences()),
            doubt=doubt,
        )

    async def _shown(
        self, world: World, combinations: Combinations, level: Level, bound_s: float
    ) -> Discovery:
        """Make what was found small, play it once for the report, and write it down."""
        assert level.found is not None
        kind = level.found.kind
        self._parts.listener.step(f"{kind} violated in level {level.number}: shrinking")
        ends_s = self._clock() + self._budget.seconds
        small = await smallest(
            combinations.playing, level.found, within=lambda: self._clock() < ends_s
        )
        again = [*self._wanted.words, "--seed", str(self._seed)]
        repeat = shlex.join(["onecharge", "run", str(self._parts.folder / FILE), *again])
        scenario = await self._played(world, small, bound_s, repeat, ends_s)
        scenario = scenario or self._as_it_was_found(world, level.found)
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

    def _as_it_was_found(self, world: World, found: Found) -> str:
        """Have the history in which it was found tell of it, since it did not show again."""
        self.verdicts.append(found.verdict)
        name = found.verdict.name
        seen = world.folder / f"{BATCHES}troubles-as-found.jsonl"
        shutil.copyfile(world.folder / f"{name}.jsonl", seen)
        return name


def _pressed(scenario: Scenario) -> str:
    """Say what the customers of a combination do, as the first of its steps."""
    orders, presses = scenario.file.orders, scenario.file.customer.presses
    who = "a customer presses" if orders == 1 else f"{orders} customers press"
    return f"{who} Pay" + f", {presses} requests at once" * (presses > 1)
