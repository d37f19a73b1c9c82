"""An exploration: every scope within a budget, and what to do about the first violation.

Rule 1: every scope gets a fair share of the time that is left; what it leaves over is the next's.
Rule 2: every scope is run at least once: what was never run says nothing.
Rule 3: the first violation ends the exploration. It is made small and repeated, in histories
        apart; one more run of the smallest schedule is the history that tells of it.
Rule 4: an invariant that only the judge of a batch sees to be violated counts as any other.
"""

import asyncio
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from onecharge.engine.chooser import KILL, RELEASE, Asked, Chooser, Replay, Taping
from onecharge.engine.explorer import Coverage, Found, Ran, explored, smallest
from onecharge.engine.listening import LISTEN_S
from onecharge.engine.retold import retold
from onecharge.engine.shrinking import Shrunk
from onecharge.engine.stage import BATCH, CHARGED_TWICE, SCOPES, Scope, Stage, kind_of
from onecharge.engine.tape import Tape
from onecharge.explaining.explanation import divergence
from onecharge.exploring import counterexample
from onecharge.exploring.batches import BATCHES
from onecharge.exploring.counterexample import counterexample_of
from onecharge.exploring.explored import Discovery, Part, unexplored, write_parts
from onecharge.exploring.late_kinds import shrunk_in_batches
from onecharge.report.pytest_file import TEST_FILE, pytest_text
from onecharge.report.written import write_whole
from onecharge.targets import Target
from onecharge.verdict import ScenarioVerdict
from onecharge.world.world import World

SYSTEMATIC: Final = 0.75
"""The part of its time in which a scope is explored systematically; chance has the rest."""

_ASIDE: Final = "shrinking/"
_MOST_RUNS: Final = 300
"""So many runs are spent on making a schedule smaller."""
_SHRINKING_S: Final = 60.0
"""Where each of them has to be healed, so much time is."""

Clock = Callable[[], float]


class Listener(Protocol):
    """Who hears how an exploration is getting on."""

    def step(self, says: str) -> None:
        """Hear of one thing that is ready."""

    def playing(self, name: str) -> AbstractContextManager[object]:
        """Hear that something is being run, as long as the context lasts."""

    def explored(self, part: Part) -> None:
        """Hear what was covered of a part."""


@dataclass(frozen=True, slots=True)
class Budget:
    """For how long is explored, and up to how many deviations from the boring run."""

    seconds: float
    bound: int | None = None


class Parts:
    """What is told of an exploration so far: heard at once, and written to the run's folder."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        self.all: list[Part] = []
        self.folder = folder
        self.listener = listener

    @property
    def found(self) -> bool:
        """Whether there is a violation already."""
        return any(part.found for part in self.all)

    def add(self, part: Part) -> None:
        """Tell of one more."""
        self.all.append(part)
        self.listener.explored(part)
        write_parts(self.folder, self.all)

    def add_unexplored(self, name: str, what: str) -> None:
        """Tell of one that was not begun."""
        self.add(unexplored(name, what, found=self.found))


class Exploration:
    """Explores scopes of a service in a world with gates. ``verdicts`` grow."""

    gated: Final = True

    def __init__(
        self,
        wanted: Target,
        seed: int,
        budget: Budget,
        parts: Parts,
        *,
        scopes: Sequence[Scope] = tuple(SCOPES.values()),
        clock: Clock = time.monotonic,
    ) -> None:
        self.parts = parts
        self._wanted = wanted
        self._seed = seed
        self._budget = budget
        self._scopes = scopes
        self._clock = clock
        self._stages: list[Stage] = []
        self._passing: set[tuple[str, ...]] = set()  # the courses of the scope without a violation

    @property
    def names(self) -> list[str]:
        """What is to be explored."""
        return [scope.name for scope in self._scopes]

    @property
    def verdicts(self) -> list[ScenarioVerdict]:
        """Those on every batch of runs so far."""
        return [verdict for stage in self._stages for verdict in stage.verdicts]

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:  # noqa: ARG002
        """Explore one scope after the other until a violation, or the end of the time."""
        ends_s = self._clock() + self._budget.seconds
        why_nots = {scope: scope.why_not(world.service_file) for scope in self._scopes}
        to_come = sum(why_not is None for why_not in why_nots.values())
        for scope, why_not in why_nots.items():
            if why_not is not None:
                self.parts.add(Part(scope.name, scope.what, why_not=why_not))
            elif self.parts.found:
                self.parts.add_unexplored(scope.name, scope.what)
            else:
                now_s = self._clock()
                await self._explore(
                    world, scope, bound_s, now_s + max(0.0, ends_s - now_s) / to_come
                )
                to_come -= 1

    def leave_out(self) -> None:
        """Say that nothing of it was begun, since there is a violation already."""
        for scope in self._scopes:
            self.parts.add_unexplored(scope.name, scope.what)

    async def _explore(self, world: World, scope: Scope, bound_s: float, until_s: float) -> None:
        async with Stage.set_up(
            world,
            scope,
            seed=self._seed,
            bound_s=bound_s,
            repeat=self._repeat(scope),
            listen_s=0 if self._stages else LISTEN_S,  # habits are learnt once
        ) as stage:
            self._stages.append(stage)
            coverage = stage.coverage()
            try:
                with self.parts.listener.playing(scope.what):
                    found = await self._found(stage, coverage, until_s)
            except asyncio.CancelledError:
                self.parts.add(replace(_part(scope, coverage), doubt="interrupted"))
                raise
        part = _part(scope, coverage)
        if found is not None:
            self.parts.listener.step(
                f"{found.kind} violated after {found.after} schedule(s): shrinking"
            )
            seen_in = stage.violated.name if stage.violated else ""
            with self.parts.listener.playing("a smaller schedule"):
                part = replace(part, found=await self._shown(world, scope, found, bound_s, seen_in))
        self.parts.add(part)

    async def _found(self, stage: Stage, coverage: Coverage, until_s: float) -> Found | None:
        by_chance_s = self._clock() + SYSTEMATIC * (until_s - self._clock())

        def within(end_s: float) -> bool:
            return stage.violated is None and (coverage.runs == 0 or self._clock() < end_s)

        self._passing.clear()

        async def make(chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001 - as ``Make``
            ran = await stage.make(chooser, all_at_once)
            if ran.kind is None and ran.course.counts and not ran.course.died:
                self._passing.add(tuple(ran.course.releases))
            return ran

        result = await explored(
            make,
            coverage,
            systematically=lambda: within(by_chance_s),
            by_chance=lambda: within(until_s),
            bound=self._budget.bound,
            seed=self._seed,
        )
        await stage.judged()
        return result.found or _found_by_the_judge(stage)

    async def _shown(
        self, world: World, scope: Scope, found: Found, bound_s: float, seen_in: str
    ) -> Discovery:
        """Make what was found small, repeat it, play it once for the report, and write it down."""
        small = await self._small(world, scope, found, bound_s)
        if not small.failed:  # there is no schedule that shows it by itself: only the batch does
            again = self._repeat(scope)
            return Discovery(found.kind, seen_in, found.after, 0, small.of, (), again)
        path = self.parts.folder / counterexample.FILE
        repeat = shlex.join(["onecharge", "run", str(path)])
        asked, scenario = await self._told(world, scope, small, bound_s, repeat)
        steps = retold(asked)
        parted = divergence(_course(asked), self._passing if _seen_at_once(found) else ())
        example = counterexample_of(
            path,
            steps,
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
            file=str(path),
            test=str(self.parts.folder / TEST_FILE),
        )
        example.write()
        test = pytest_text(
            title=example.file.title, steps=example.steps, says=discovery.in_words, file=path.name
        )
        write_whole(test, self.parts.folder / TEST_FILE)
        return discovery

    def _repeat(self, scope: Scope) -> str:
        """Return the command that explores a scope again."""
        words = ["onecharge", "explore", *self._wanted.words, "--scope", scope.name]
        words += ["--seed", str(self._seed), "--budget", f"{self._budget.seconds:g}"]
        return shlex.join(words)

    async def _small(self, world: World, scope: Scope, found: Found, bound_s: float) -> Shrunk:
        (world.folder / f"{BATCHES}{_ASIDE}").mkdir(exist_ok=True)
        aside = replace(scope, name=f"{_ASIDE}{scope.name}")
        async with Stage.set_up(
            world, aside, seed=self._seed, bound_s=bound_s, repeat="", listen_s=0
        ) as stage:
            if not _seen_at_once(found):
                ends_s = self._clock() + _SHRINKING_S
                return await shrunk_in_batches(stage, found, lambda: self._clock() < ends_s)
            stage.batch = BATCH
            small = await smallest(stage.make, found, most_runs=_MOST_RUNS)
            await stage.judged()
            return small

    async def _told(
        self, world: World, scope: Scope, small: Shrunk, bound_s: float, repeat: str
    ) -> tuple[list[Asked], str]:
        """Play the smallest schedule till it shows: its course, and the history if it did."""
        shown = replace(scope, name=f"{scope.name}-counterexample")
        async with Stage.set_up(
            world, shown, seed=self._seed, bound_s=bound_s, repeat=repeat, listen_s=0
        ) as stage:
            self._stages.append(stage)
            stage.batch = 1
            for _ in range(small.of):
                taping = await replayed(stage, small.tape)
                await stage.judged()
                verdict = stage.verdicts[-1]
                if verdict.orders_violating(small.kind):
                    return taping.asked, verdict.name
        return taping.asked, ""


def _part(scope: Scope, coverage: Coverage) -> Part:
    return Part(
        scope.name,
        scope.what,
        runs=coverage.runs,
        complete=coverage.exhausted,
        says=tuple(coverage.sentences()),
    )


def _seen_at_once(found: Found) -> bool:
    """Whether a run shows it at its end; else only the judge does, when a batch has healed.

    Those who die under way are healed together.
    """
    return found.kind == CHARGED_TWICE and not _dies(found.tape)


def _dies(tape: Tape) -> bool:
    return any(choice.kind == KILL and choice.deviates for choice in tape.choices)


def _course(asked: Sequence[Asked]) -> list[str]:
    return [one.alternatives[one.index] for one in asked if one.kind == RELEASE]


async def replayed(stage: Stage, tape: Tape) -> Taping:
    """Make one run by a tape and return what it was asked and answered."""
    replay = Replay(tape)
    taping = Taping(replay)
    await stage.make(taping, replay.all_at_once)
    return taping


def _found_by_the_judge(stage: Stage) -> Found | None:
    """Return what the judge of a batch found, with the tape of the order that shows it."""
    verdict = stage.violated
    if verdict is None:
        return None
    kind = kind_of(verdict)
    assert kind is not None, "violated, and by nothing"
    blamed = verdict.orders_violating(kind)
    found = [
        Found(kind, tape, after, stage.courses[order].events)
        for after, (order, tape) in enumerate(stage.tapes.items(), start=1)
        if order in blamed
    ]
    if found:  # a death strikes others of the batch as well: who died is to blame first
        return min(found, key=lambda one: (not _dies(one.tape), one.after))
    return Found(kind, Tape(), len(stage.tapes))  # it takes no deviation, by all that is known
