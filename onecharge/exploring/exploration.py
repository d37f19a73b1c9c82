"""An exploration: every scope within a budget, up to the first violation.

Rule 1: every scope gets a fair share of the time that is left; what it leaves over is the next's.
Rule 2: every scope is run at least once: what was never run says nothing.
Rule 3: the first violation ends the exploration; what is done about it is ``showing.py``'s.
Rule 4: an invariant that only the judge of a batch sees to be violated counts as any other.
"""

import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from onecharge.engine.explorer import Coverage, Found, Ran, explored
from onecharge.engine.listening import LISTEN_S
from onecharge.engine.stage import SCOPES, Scope, Stage, kind_of
from onecharge.engine.tapes.chooser import Chooser
from onecharge.engine.tapes.tape import Tape
from onecharge.explored import Clock, Discovery, Part, Parts
from onecharge.exploring.showing import Showing, dies
from onecharge.targets import Target
from onecharge.verdict import ScenarioVerdict
from onecharge.world.world import World

SYSTEMATIC: Final = 0.75
"""The part of its time in which a scope is explored systematically; chance has the rest."""


@dataclass(frozen=True, slots=True)
class Budget:
    """For how long is explored, and up to how many deviations from the boring run."""

    seconds: float
    bound: int | None = None


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
        self._shown_by: list[ScenarioVerdict] = []
        self._passing: set[tuple[str, ...]] = set()  # the courses of the scope without a violation

    @property
    def names(self) -> list[str]:
        """What is to be explored."""
        return [scope.name for scope in self._scopes]

    @property
    def verdicts(self) -> list[ScenarioVerdict]:
        """Those on every batch of runs so far."""
        batches = [verdict for stage in self._stages for verdict in stage.verdicts]
        return [*batches, *self._shown_by]

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:  # noqa: ARG002
        """Explore one scope after the other until a violation, or the end of the time."""
        self.parts.begin()
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
            seconds = self.parts.seconds
            self.parts.listener.step(
                f"{found.kind} violated after {found.after} schedule(s): shrinking"
            )
            try:
                with self.parts.listener.playing("a smaller schedule"):
                    discovery = await self._shown(world, stage, found, bound_s)
            except asyncio.CancelledError:
                self.parts.add(replace(part, doubt=f"{found.kind} was violated; then interrupted"))
                raise
            discovery = replace(discovery, seconds=seconds, by_chance=coverage.sampled > 0)
            part = replace(part, found=discovery)
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

    async def _shown(self, world: World, stage: Stage, found: Found, bound_s: float) -> Discovery:
        """Make what was found small, in as much time again as there was to find it."""
        ends_s = self._clock() + self._budget.seconds
        showing = Showing(
            world,
            stage.scope,
            found,
            wanted=self._wanted,
            seed=self._seed,
            bound_s=bound_s,
            folder=self.parts.folder,
            within=lambda: self._clock() < ends_s,
        )
        seen_in = stage.violated.name if stage.violated else ""
        try:
            return await showing.discovery(self._passing, seen_in, self._repeat(stage.scope))
        finally:
            self._shown_by += showing.verdicts

    def _repeat(self, scope: Scope) -> str:
        """Return the command that explores a scope again."""
        words = ["onecharge", "explore", *self._wanted.words, "--scope", scope.name]
        words += ["--seed", str(self._seed), "--budget", f"{self._budget.seconds:g}"]
        return shlex.join(words)


def _part(scope: Scope, coverage: Coverage) -> Part:
    return Part(
        scope.name,
        scope.what,
        runs=coverage.runs,
        complete=coverage.exhausted,
        says=tuple(coverage.sentences()),
    )


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
        return min(found, key=lambda one: (not dies(one.tape), one.after))
    return Found(kind, Tape(), len(stage.tapes))  # it takes no deviation, by all that is known
