"""Every single trouble and every pair of them within a budget, and what to do about a finding.

Rule 1: level 1 before level 2. A level that there was no time for says so.
Rule 2: the rows' histories lie apart: what counts of a finding is the smallest combination, played
        once more as the scenario that its file holds.
Rule 3: what could not be settled is in doubt, and a run with doubts is never green.
"""

import shlex
import time
from dataclasses import replace
from typing import Final

from onecharge.combinations.levels import Combinations, Level
from onecharge.combinations.smallest import Smallest, smallest
from onecharge.combinations.writing import as_toml
from onecharge.engine.shrinking import MOST_REPEATS
from onecharge.exploring import counterexample
from onecharge.exploring.batches import BATCHES
from onecharge.exploring.exploration import Budget, Clock, Parts
from onecharge.exploring.explored import Discovery, Part
from onecharge.phases import Play, perform
from onecharge.report.pytest_file import TEST_FILE, pytest_text
from onecharge.report.written import write_whole
from onecharge.scenario_file import Scenario
from onecharge.targets import Target
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.world import World

LEVELS: Final = {"level-1": "every single trouble", "level-2": "every pair of troubles"}

ASIDE: Final = f"{BATCHES}rows/"


class Troubles:
    """Plays the levels in a world without gates. ``verdicts`` are those on what was found."""

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
        return list(LEVELS)

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:
        """Play one level after the other until a violation, or the end of the time."""
        left = dict(LEVELS)
        (world.folder / ASIDE).mkdir(exist_ok=True)
        ends_s = self._clock() + self._budget.seconds
        combinations = Combinations.of(
            world, seed=self._seed, bound_s=bound_s, tied=tied, aside=ASIDE
        )
        with self._parts.listener.playing("every trouble, and every pair"):
            async for level in combinations.levels(lambda: self._clock() < ends_s):
                name = f"level-{level.number}"
                part = _part(name, left.pop(name), level)
                if level.found is not None:
                    found = await self._shown(world, combinations, level, bound_s)
                    part = replace(part, found=found)
                self._parts.add(part)
        for name, what in left.items():
            self._parts.add_unexplored(name, what)

    def leave_out(self) -> None:
        """Say that nothing of it was begun, since there is a violation already."""
        for name, what in LEVELS.items():
            self._parts.add_unexplored(name, what)

    async def _shown(
        self, world: World, combinations: Combinations, level: Level, bound_s: float
    ) -> Discovery:
        """Make what was found small, play it once for the report, and write it down."""
        assert level.found is not None
        kind = level.found.kind
        self._parts.listener.step(f"{kind} violated in level {level.number}: shrinking")
        small = await smallest(combinations.playing, level.found)
        path = self._parts.folder / counterexample.FILE
        words = ["onecharge", "run", str(path), *self._wanted.words, "--seed", str(self._seed)]
        repeat = shlex.join(words)
        scenario = await self._played(world, small, bound_s, repeat)
        values = combinations.space.values(small.row)
        discovery = Discovery(
            kind=kind,
            scenario=scenario,
            after=level.found.after,
            failed=small.shrunk.failed,
            of=small.shrunk.of,
            steps=(_pressed(small.scenario), *(value.name for value in values)),
            repeat=repeat,
            file=str(path),
            test=str(self._parts.folder / TEST_FILE),
        )
        write_whole(as_toml(small.scenario), path)
        test = pytest_text(
            title=f"{small.scenario.file.title}: {kind} is violated",
            steps=discovery.steps,
            says=discovery.in_words,
            file=path.name,
            words=(*self._wanted.words, "--seed", str(self._seed)),
        )
        write_whole(test, self._parts.folder / TEST_FILE)
        return discovery

    async def _played(self, world: World, small: Smallest, bound_s: float, repeat: str) -> str:
        """Play the smallest combination till it shows; return the name of its history."""
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
                break
        return verdict.name


def _pressed(scenario: Scenario) -> str:
    """Say what the customers of a combination do, as the first of its steps."""
    orders, presses = scenario.file.orders, scenario.file.customer.presses
    who = "a customer presses" if orders == 1 else f"{orders} customers press"
    return f"{who} Pay" + f", {presses} requests at once" * (presses > 1)


def _part(name: str, what: str, level: Level) -> Part:
    doubt = f"{len(level.doubts)} combination(s) are in doubt" if level.doubts else ""
    return Part(
        name,
        what,
        runs=level.played,
        complete=level.complete,
        says=tuple(level.sentences()),
        doubt=doubt,
    )
