"""The explorer: every order of what was observed, then chance; and what may be said of it.

Rule 1: systematic first, one event released at a time, level by level; chance has what is left.
        Every now and then, for the first time after the boring run, a run is put in between
        that lets everything go at once: what races inside one statement need not wait for chance.
Rule 2: a sentence on coverage is true to the letter. *All* is said only when the odometer ended,
        every run repeated its parent, and none was hurried or stuck.
Rule 3: what let several events go at once, and what chance chose, are samples and are counted so.
Rule 4: the first violation ends the exploration; what led to it is a tape. One that was found by
        all at once may not come back: it is kept, and what one deviation finds is preferred.
Rule 5: whoever asks makes the runs and knows the time.
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onecharge.engine.course import Course
from onecharge.engine.tapes.chooser import (
    ALL_AT_ONCE,
    Bound,
    Chooser,
    InOrder,
    InStep,
    Priorities,
    Replay,
    Swarm,
    Taping,
    lane_of,
)
from onecharge.engine.tapes.odometer import Odometer, renamings
from onecharge.engine.tapes.shrinking import Shrunk, shrunk
from onecharge.engine.tapes.tape import Tape

DEPTH: Final = 2
"""Of how many events in the wrong order a race is made that the priorities engine looks for."""


IN_STEP_EVERY: Final = 8
"""After so many systematic runs, one lets everything go at once."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of one run: the kind of its first violation, and its course.

    ``earlier`` is the run that led to the violation where that was one before, judged only now.
    ``came_to`` is what became of every chain by itself: runs in which that is the same differ,
    as far as can be seen, in nothing but who was waiting for whom.
    """

    kind: str | None
    course: Course
    earlier: "Earlier | None" = None
    came_to: Hashable | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run that was made before: by which tape, and how it went."""

    tape: Tape
    course: Course


Make = Callable[[Chooser, bool], Awaitable[Ran]]
"""Makes one run; whether *all at once* is on offer is said beside the chooser."""

Within = Callable[[], bool]
"""Tells whether there is time for another run."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation: of what kind, by which tape, after how many runs; what happened, in order."""

    kind: str
    tape: Tape
    after: int
    events: Sequence[str] = ()


@dataclass(slots=True)
class Coverage:
    """What was explored of one scope. ``what`` and ``observed`` are words for the sentence.

    ``unasked`` is what the service says to its stores of its own accord, which nothing held;
    ``alike`` are the chains that differ in nothing but their names. ``most`` is how many
    deviations a run has at most, where nobody says otherwise.
    """

    what: str
    observed: str
    unasked: Sequence[str] = ()
    alike: frozenset[str] = frozenset()
    most: int | None = None
    orders: set[tuple[str, ...]] = field(default_factory=set, repr=False)
    renamed: int = 0
    """Orders that were not executed, since they are those that were, under other names."""
    runs: int = 0
    unlike: int = 0
    """Runs that were hurried or stuck: samples, whatever they were meant to be."""
    astray: int = 0
    silences: int = 0
    complete: int | None = None
    """Up to so many deviations, every run was made."""
    ended: bool = False
    in_step: int = 0
    swept: int = 0
    """Runs in which nothing is held (``late_probes.py``): a scope of theirs knows nothing else."""
    sampled: int = 0
    bound: Bound | None = None

    @property
    def exhausted(self) -> bool:
        """Whether there is no order of this scope that was not executed (rule 2)."""
        return self.ended and not self.astray and not self.unlike and not self.swept

    def sentences(self) -> list[str]:
        """Return what may be said of the coverage, in full sentences without their full stops."""
        said = [self._systematic()]
        if self.astray:
            said.append(
                f"{self.astray} run(s) went another way than the run before them; what lies behind "
                "them was not enumerated"
            )
        if self.unlike:
            said.append(f"{self.unlike} run(s) were hurried or stuck and count as samples")
        if self.unasked:
            said.append(
                f"what the service says of its own accord passed unheld: {', '.join(self.unasked)}"
            )
        if self.silences:
            said.append(f"that nothing moved was told by silence alone {self.silences} time(s)")
        if self.in_step:
            said.append(f"{self.in_step} run(s) with all at once, which are samples")
        if self.sampled:
            said.append(f"{self.sampled} run(s) by chance, which are samples")
        if self.bound is not None and self.bound.runs:
            said.append(str(self.bound))
        return said

    def _systematic(self) -> str:
        if self.swept:
            return f"{self.swept} run(s) in a sweep of {self.what}, which are samples"
        of = f"of the observed {self.observed} of {self.what}, one released at a time"
        if self.exhausted and self.renamed:
            return (
                f"all {len(self.orders) + self.renamed} orders {of}: explored, {len(self.orders)} "
                f"of them executed and {self.renamed} the same under other names"
            )
        if self.exhausted:
            return f"all {len(self.orders)} orders {of}: explored"
        levels = (
            "none of the levels is complete"
            if self.complete is None
            else f"every order with at most {self.complete} deviation(s) from the boring one"
        )
        if self.astray or self.unlike:
            levels = "no level can be called complete"
        return f"{len(self.orders)} orders {of}, within the budget: {levels}"


@dataclass(slots=True)
class Explored:
    """The result: what was covered, and what was found, if anything."""

    coverage: Coverage
    found: Found | None = None


async def explored(
    make: Make,
    coverage: Coverage,
    *,
    systematically: Within,
    by_chance: Within,
    bound: int | None = None,
    seed: int = 1,
) -> Explored:
    """Explore one scope until the first violation, the end of it, or the end of the time."""
    exploration = _Exploration(make, coverage, seed)
    found = await exploration.systematic(bound, systematically)
    if found is None and exploration.left_to_chance:
        found = await exploration.random(by_chance)
    return Explored(coverage, found)


class _Exploration:
    def __init__(self, make: Make, coverage: Coverage, seed: int) -> None:
        self._make = make
        self._coverage = coverage
        self._seed = seed
        self._kept: Found | None = None  # by all at once
        self._came_to: set[Hashable] = set()
        self._races = True  # whether several were ever parked at once
        self._steps = 1
        self._lanes: set[str] = set()

    @property
    def left_to_chance(self) -> bool:
        """Whether chance can do anything new: not where all was done and nothing ever races."""
        return self._races or not self._coverage.exhausted

    async def systematic(self, bound: int | None, within: Within) -> Found | None:
        coverage = self._coverage
        odometer = Odometer(coverage.most if bound is None else bound, alike=coverage.alike)
        while plan := odometer.next():
            coverage.complete = _complete(odometer)
            if (self._kept and coverage.complete) or not within():
                return self._kept
            taping = Taping(plan.choose_from())
            ran = await self._run(taping, all_at_once=False)
            counts = odometer.done(taping.asked, seen_before=self._seen_before(ran))
            coverage.astray = odometer.astray
            coverage.silences += ran.course.silences
            if ran.course.counts:
                self._note(tuple(ran.course.releases), renamings(taping.asked, coverage.alike))
            elif ran.course.swept:
                coverage.swept += 1
            else:
                coverage.unlike += counts
            if found := self._found(ran, taping):
                return found
            wanted = self._races and self._kept is None
            if odometer.runs % IN_STEP_EVERY == 1 and wanted and within():
                self._kept = await self._in_step()
        coverage.complete = _complete(odometer)
        coverage.ended = odometer.exhausted
        return self._kept

    def _seen_before(self, ran: Ran) -> bool:
        known = ran.came_to in self._came_to
        if ran.came_to is not None:
            self._came_to.add(ran.came_to)
        return known

    async def _in_step(self) -> Found | None:
        """Let everything go at once: a sample, whatever comes of it."""
        taping = Taping(InStep())
        ran = await self._run(taping, all_at_once=True)
        self._races = ran.course.together
        self._coverage.in_step += self._races
        return self._found(ran, taping)

    def _found(self, ran: Ran, taping: Taping) -> Found | None:
        if ran.kind is None:
            return None
        showed = ran.earlier or Earlier(taping.tape, ran.course)
        return Found(ran.kind, showed.tape, self._coverage.runs, showed.course.events)

    def _note(self, order: tuple[str, ...], stands_for: int) -> None:
        if order not in self._coverage.orders:
            self._coverage.orders.add(order)
            self._coverage.renamed += stands_for - 1

    async def random(self, within: Within) -> Found | None:
        """Take turns: priorities, whose clean runs mean something, and a swarm with all at once.

        Where nothing is held, there is nobody to go first: a sweep has the swarm alone.
        """
        coverage, counted = self._coverage, 0
        while within():
            seed = self._seed * 1_000_003 + coverage.sampled
            steps, lanes = self._steps, len(self._lanes)
            by_priority = coverage.sampled % 2 == 0 and not coverage.swept
            taping = Taping(
                Priorities(seed, depth=DEPTH, steps=steps) if by_priority else Swarm(seed)
            )
            ran = await self._run(taping, all_at_once=not by_priority)
            coverage.sampled += 1
            if by_priority and ran.course.counts:
                # A run with more steps or lanes than were known had not the chance that is said.
                counted += (self._steps, len(self._lanes)) == (steps, lanes)
                coverage.bound = Bound(len(self._lanes), self._steps, DEPTH, counted)
            if found := self._found(ran, taping):
                return found
        return None

    async def _run(self, taping: Taping, *, all_at_once: bool) -> Ran:
        ran = await self._make(taping, all_at_once)
        self._coverage.runs += 1
        if ran.course.counts:
            self._steps = max(self._steps, len(taping.asked))
            names = {name for asked in taping.asked for name in asked.alternatives}
            self._lanes |= {lane_of(name) for name in names - {ALL_AT_ONCE}}
        return ran


def _complete(odometer: Odometer) -> int | None:
    return len(odometer.levels) - 1 if odometer.levels else None


async def smallest(
    make: Make, found: Found, *, most_runs: int, within: Within = lambda: True
) -> Shrunk:
    """Shrink what was found by making the runs again; flakiness is allowed for."""

    async def run(tape: Tape) -> str | None:
        replay = Replay(tape)
        ran = await make(replay, replay.all_at_once)
        return None if ran.earlier else ran.kind  # else it says what an earlier run came to

    return await shrunk(
        found.tape,
        found.kind,
        run,
        pin=lambda: pinned(make, found),
        most_runs=most_runs,
        within=within,
    )


async def pinned(make: Make, found: Found) -> Tape | None:
    """Make a run with the events of what was found in their order, one at a time; its tape.

    None where no order is known, or the run could not be made so.
    """
    if not found.events:
        return None
    taping = Taping(InOrder(found.events, found.tape))
    ran = await make(taping, False)
    return taping.tape if ran.course.counts else None
