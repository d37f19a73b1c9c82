"""A counterexample played again, twenty times.

Rule 1: every run has an order of its own, and one judge looks at all of them together.
Rule 2: only the violation that the file names counts as *came back*; another one is violated all
        the same, and told as what it is.
Rule 3: where no run could follow the recording, nothing was repeated, and that is *unknown*.
"""

import shlex
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onecharge.engine.stage import Stage
from onecharge.engine.tapes.chooser import Replay
from onecharge.engine.tapes.shrinking import MOST_REPEATS
from onecharge.explored import Discovery, Part, Parts
from onecharge.exploring.counterexample import Counterexample
from onecharge.targets import Target
from onecharge.world.world import World

if TYPE_CHECKING:
    from onecharge.verdict import ScenarioVerdict

REPEATS: Final = MOST_REPEATS

_ALL: Final = 1_000
"""More than are played."""


class Repetition:
    """Plays a counterexample in a world with gates. ``verdicts`` grow."""

    gated: Final = True

    def __init__(
        self,
        example: Counterexample,
        wanted: Target,
        seed: int,
        parts: Parts,
    ) -> None:
        self.verdicts: list[ScenarioVerdict] = []
        self._example = example
        self._seed = seed
        self._parts = parts
        words = ["onecharge", "run", str(example.path), *wanted.words, "--seed", str(seed)]
        self._repeat = shlex.join(words)

    @property
    def names(self) -> list[str]:
        """What is to be repeated."""
        return [self._example.file.scope]

    def leave_out(self) -> None:
        """Say that it was not repeated, since there is a violation already."""
        self._parts.add_unexplored(self._example.file.scope, self._example.scope.what)

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:  # noqa: ARG002
        """Play it, judge it, and say how often it came back."""
        scope = self._example.scope
        part = Part(scope.name, scope.what)
        if why_not := scope.why_not(world.service_file):
            part = replace(part, why_not=why_not)
        else:
            shown = replace(scope, name=f"{scope.name}-counterexample")
            async with Stage.set_up(
                world, shown, seed=self._seed, bound_s=bound_s, repeat=self._repeat
            ) as stage:
                with self._parts.listener.playing(self._example.file.title):
                    part = await self._repeated(stage, part)
        self._parts.add(part)

    async def _repeated(self, stage: Stage, part: Part) -> Part:
        kind, tape = self._example.file.violates, self._example.tape
        stage.batch = _ALL  # judged when all are over
        departures: Counter[str] = Counter()
        astray = 0
        for _ in range(REPEATS):
            replay = Replay(tape)
            await stage.make(replay, replay.all_at_once)
            departed = replay.departures or ["it was over before"] * bool(replay.unread)
            departures.update(departed[:1])
            astray += bool(departed)
        verdict = await stage.judged()
        assert verdict is not None, "judged, and nothing was run"
        self.verdicts += stage.verdicts
        # One order more was paid before, to learn what the service does unasked.
        failed = len(verdict.orders_violating(kind) & {None, *stage.tapes})
        says = [f"{kind} violated in {failed} of {REPEATS} repeats of {stage.scope.what}"]
        if departures:
            why, _ = departures.most_common(1)[0]
            says.append(f"{astray} of them could not follow the recording: {why}")
        part = replace(part, runs=REPEATS, says=tuple(says))
        if failed:
            found = Discovery(
                kind=kind,
                scenario=verdict.name,
                after=0,
                failed=failed,
                of=REPEATS,
                steps=self._example.steps,
                repeat=self._repeat,
                file=str(self._example.path),
            )
            return replace(part, found=found)
        if astray == REPEATS:
            return replace(part, doubt="the recording's choices were not on offer")
        return part
