"""What is done about a schedule that breaks a service: it is made small, repeated, told and kept.

Rule 1: shrinking and repeating have histories apart; one more run of the smallest schedule is the
        history that tells of it.
Rule 2: it takes no longer than ``within`` says, beside the last repeats: then what is the smallest
        by now is told, and that there may be a smaller one.
"""

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from onecharge.engine.explorer import Found, smallest
from onecharge.engine.retold import retold
from onecharge.engine.stage import BATCH, CHARGED_TWICE, Scope, Stage
from onecharge.engine.tapes.chooser import KILL, RELEASE, Asked, Replay, Taping
from onecharge.engine.tapes.shrinking import Shrunk
from onecharge.engine.tapes.tape import Tape
from onecharge.explaining.explanation import divergence
from onecharge.explored import Discovery
from onecharge.exploring.batches import BATCHES
from onecharge.exploring.counterexample import counterexample_of
from onecharge.exploring.kept import FILE, kept
from onecharge.exploring.late_kinds import shrunk_in_batches
from onecharge.targets import Target
from onecharge.world.world import World

if TYPE_CHECKING:
    from onecharge.verdict import ScenarioVerdict

_ASIDE: Final = "shrinking/"
_MOST_RUNS: Final = 300
"""So many runs are spent on making a schedule smaller."""


class Showing:
    """Shows what was found in a scope. ``verdicts`` are those on the history that tells of it."""

    def __init__(
        self,
        world: World,
        scope: Scope,
        found: Found,
        *,
        wanted: Target,
        seed: int,
        bound_s: float,
        folder: Path,
        within: Callable[[], bool],
    ) -> None:
        self.verdicts: list[ScenarioVerdict] = []
        self._world = world
        self._scope = scope
        self._found = found
        self._wanted = wanted
        self._seed = seed
        self._bound_s = bound_s
        self._folder = folder
        self._within = within

    async def discovery(
        self, passing: Collection[tuple[str, ...]], seen_in: str, explored_by: str
    ) -> Discovery:
        """Make what was found small, repeat it, play it once for the report, and write it down.

        ``passing`` are courses that passed. If no schedule shows it by itself, ``seen_in`` is the
        history of the batch that does, and ``explored_by`` the command that finds it again.
        """
        found, scope = self._found, self._scope
        small = await self._small()
        if not small.failed:
            return Discovery(found.kind, seen_in, found.after, 0, small.of, (), explored_by)
        path = self._folder / FILE
        repeat = shlex.join(["onecharge", "run", str(path)])
        asked, scenario = await self._told(small, repeat)
        parted = divergence(_course(asked), passing if _seen_at_once(found) else ())
        example = counterexample_of(
            path,
            retold(asked),
            wanted=self._wanted,
            scope=scope,
            violates=found.kind,
            seed=self._seed,
            found_after=found.after,
            failed=small.failed,
            of=small.of,
            pinned=str(small.pinned or ""),
        )
        discovery = Discovery(
            kind=found.kind,
            scenario=scenario or seen_in,
            after=found.after,
            failed=small.failed,
            of=small.of,
            steps=example.steps,
            repeat=repeat,
            parted="" if parted is None else str(parted),
            pinned=str(small.pinned or ""),
            minimal=small.minimal,
        )
        return kept(discovery, self._folder, example.text, example.file.title)

    async def _small(self) -> Shrunk:
        (self._world.folder / f"{BATCHES}{_ASIDE}").mkdir(exist_ok=True)
        found = self._found
        aside = replace(self._scope, name=f"{_ASIDE}{self._scope.name}")
        async with Stage.set_up(
            self._world, aside, seed=self._seed, bound_s=self._bound_s, repeat="", listen_s=0
        ) as stage:
            if not _seen_at_once(found):
                return await shrunk_in_batches(stage, found, self._within)
            stage.batch = BATCH
            small = await smallest(stage.make, found, most_runs=_MOST_RUNS, within=self._within)
            await stage.judged()
            return small

    async def _told(self, small: Shrunk, repeat: str) -> tuple[list[Asked], str]:
        """Play the smallest schedule till it shows: its course, and the history if it did."""
        shown = replace(self._scope, name=f"{self._scope.name}-counterexample")
        async with Stage.set_up(
            self._world,
            shown,
            seed=self._seed,
            bound_s=self._bound_s,
            repeat=repeat,
            listen_s=0,
        ) as stage:
            self.verdicts = stage.verdicts
            stage.batch = 1
            for _ in range(small.of):
                taping = await replayed(stage, small.tape)
                await stage.judged()
                verdict = stage.verdicts[-1]
                if verdict.orders_violating(small.kind):
                    return taping.asked, verdict.name
                if not self._within():
                    break
        return taping.asked, ""


def _seen_at_once(found: Found) -> bool:
    """Whether a run shows it at its end; else only the judge does, when a batch has healed.

    Those who die under way are healed together.
    """
    return found.kind == CHARGED_TWICE and not dies(found.tape)


def dies(tape: Tape) -> bool:
    """Whether the service dies in a run by this tape."""
    return any(choice.kind == KILL and choice.deviates for choice in tape.choices)


def _course(asked: Sequence[Asked]) -> list[str]:
    return [one.alternatives[one.index] for one in asked if one.kind == RELEASE]


async def replayed(stage: Stage, tape: Tape) -> Taping:
    """Make one run by a tape and return what it was asked and answered."""
    replay = Replay(tape)
    taping = Taping(replay)
    await stage.make(taping, replay.all_at_once)
    return taping
