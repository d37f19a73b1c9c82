"""From a tape that breaks a service to a small one that still does, though it may be flaky.

Rule 1: the kind of violation survives: a double charge does not shrink into a stuck key.
Rule 2: small is first few deviations; only then are those that are left made plainer.
Rule 3: whole groups first, in the domain's order: orders, keys and tenants; faults; racers;
        the order of release; copies; kills; amounts. Then halves, quarters, single steps.
Rule 4: a smaller tape is accepted at its first failing repeat, and rejected after as many clean
        ones as make a mistake improbable: (1 - p)^r at most 1 %, at most 20. Where 20 are too few
        for that, what was rejected is looked at again before anything is called a minimum.
Rule 5: what does not fail every time is *pinned*: what went on at once in the run that failed goes
        on one after the other, in the order in which it happened then. Whichever fails more often
        is kept, and where that is no more often than before, what was found.
Rule 6: nothing here runs anything: whoever asks brings ``run``, and may run what they like.
"""

import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

from onecharge.engine.tapes.tape import Tape

Run = Callable[[Tape], Awaitable[str | None]]
"""Makes one run by a tape and returns the kind of what it violated, None if nothing."""

Pin = Callable[[], Awaitable[Tape | None]]
"""Makes a run in the order of the events of the one that failed; its tape, if it could be made."""

CONFIRMED_BY: Final = 10
MOST_REPEATS: Final = 20
DOUBT: Final = 0.01

ORDER: Final = ("order", "key", "tenant", "fault", "racers", "release", "copies", "kill", "amount")
"""What is tried away first. What is of no kind known here comes last."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """That the order of events is pinned, and how often it failed before and since."""

    before: int
    since: int
    of: int = CONFIRMED_BY

    def __str__(self) -> str:
        return (
            f"the order of its events is pinned: {self.since} of {self.of} repeats, "
            f"{self.before} of {self.of} without that"
        )


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What was found: ``tape`` failed ``failed`` of ``of`` times; it took ``runs`` in all.

    ``minimal`` says whether every simpler tape was tried and rejected; if not, runs had run out,
    or the time. ``pinned`` is there if it was made of a pinned one.
    """

    tape: Tape
    kind: str
    failed: int
    of: int
    runs: int
    minimal: bool
    pinned: Pinned | None = None

    def __str__(self) -> str:
        return f"{self.tape.token}: {self.kind} in {self.failed} of {self.of} repeats"


async def shrunk(
    tape: Tape,
    kind: str,
    run: Run,
    *,
    pin: Pin | None = None,
    repeat: Run | None = None,
    most_runs: int = 5_000,
    within: Callable[[], bool] = lambda: True,
) -> Shrunk:
    """Return the smallest tape near ``tape``, which was seen to violate ``kind`` once.

    ``repeat`` makes the last repeats, where they are made with more care than what is tried on
    the way; what none of them shows was no violation, and what was found is repeated instead.
    ``within`` tells whether there is time to try another; what is in hand then is repeated.
    """
    shrinking = _Shrinking(tape.trimmed, kind, run, pin, most_runs=most_runs, within=within)
    return await shrinking.to_the_end(repeat)


class _Shrinking:
    def __init__(
        self,
        tape: Tape,
        kind: str,
        run: Run,
        pin: Pin | None,
        *,
        most_runs: int,
        within: Callable[[], bool],
    ) -> None:
        self._tape = tape
        self._kind = kind
        self._run = run
        self._pin = pin
        self._pinned: Pinned | None = None
        self._most_runs = most_runs
        self._within = within
        self._runs = 0
        self._failed = 1  # of the tape in hand: it was seen to fail
        self._tried = 1
        self._clean: dict[str, int] = {}  # how often a candidate was seen not to fail

    async def to_the_end(self, repeat: Run | None) -> Shrunk:
        found = self._tape
        if self._affordable:
            confirmed = await self._times(CONFIRMED_BY, self._tape, self._run)
            self._failed += confirmed
            self._tried += CONFIRMED_BY
            if confirmed < CONFIRMED_BY and self._pin is not None:
                await self._try_pinned(self._pin, confirmed)
        await self._without_groups()
        size = math.ceil(len(self._tape.deviations) / 2)
        while size > 1:
            await self._without_parts(size)
            size = math.ceil(size / 2)
        while self._affordable and await self._one_step():
            pass
        minimal = self._affordable
        failed = await self._times(MOST_REPEATS, self._tape, repeat or self._run)
        if repeat is not None and not failed and self._tape != found:
            self._tape, self._pinned, minimal = found, None, False
            failed = await self._times(MOST_REPEATS, self._tape, repeat)
        return Shrunk(
            self._tape,
            self._kind,
            failed,
            MOST_REPEATS,
            self._runs,
            minimal=minimal,
            pinned=self._pinned,
        )

    async def _try_pinned(self, pin: Pin, confirmed: int) -> None:
        """Take the pinned tape in hand if it fails more often than the one that was found."""
        self._runs += 1
        pinned = await pin()
        if pinned is None or pinned.trimmed == self._tape:
            return
        failed = await self._times(CONFIRMED_BY, pinned.trimmed, self._run)
        if failed > confirmed:
            self._tape, self._pinned = pinned.trimmed, Pinned(confirmed, failed)
            self._failed, self._tried = failed, CONFIRMED_BY

    async def _times(self, repeats: int, tape: Tape, run: Run) -> int:
        """Return how many of so many repeats fail."""
        return sum([await self._fails(tape, run) for _ in range(repeats)])

    @property
    def _affordable(self) -> bool:
        return self._runs < self._most_runs and self._within()

    async def _without_groups(self) -> None:
        """Try away everything at once, and then what belongs together."""
        if await self._accepted(self._tape.without(self._tape.deviations)):
            return
        ranks = {_rank(self._tape.choices[place].kind) for place in self._tape.deviations}
        for rank in sorted(ranks) if len(ranks) > 1 else ():
            await self._accepted(self._tape.without(self._of_rank(rank)))

    async def _without_parts(self, size: int) -> None:
        """Try away parts of so many deviations each, group by group, and go on with the rest."""
        for rank in range(len(ORDER) + 1):
            start = 0
            while places := self._of_rank(rank)[start : start + size]:
                if not await self._accepted(self._tape.without(places)):
                    start += size

    def _of_rank(self, rank: int) -> list[int]:
        choices = self._tape.choices
        return [place for place in self._tape.deviations if _rank(choices[place].kind) == rank]

    async def _one_step(self) -> bool:
        """Take away or make plainer what can be; whether anything could, and there may be more."""
        before = self._tape
        await self._without_parts(1)
        for place in self._tape.deviations:
            for plainer in _plainer(self._tape, place):
                if await self._accepted(plainer):
                    break
        return self._tape != before or await self._doubts_removed()

    async def _doubts_removed(self) -> bool:
        """Look again at what was clean too seldom for rule 4; whether any of it fails after all."""
        while doubtful := [
            candidate
            for candidate in _one_step_simpler(self._tape)
            if self._clean.get(candidate.token, 0) < _clean_repeats(self._lowest_p)
        ]:
            for candidate in doubtful:
                if await self._accepted(candidate):
                    return True
            if not self._affordable:
                return False
        return False

    async def _accepted(self, candidate: Tape) -> bool:
        """Take a simpler tape in hand if it fails, and tell whether it does."""
        if candidate == self._tape:
            return False
        clean_before = self._clean.get(candidate.token, 0)
        wanted = _clean_repeats(self._lowest_p)
        if clean_before >= wanted:
            return False
        for repeat in range(1, min(MOST_REPEATS, wanted - clean_before) + 1):
            if not self._affordable:
                return False
            if await self._fails(candidate, self._run):
                self._tape = candidate
                # What is known of how often it fails is kept, and counts less with every step.
                self._failed = self._failed // 2 + 1
                self._tried = self._tried // 2 + repeat
                return True
            self._clean[candidate.token] = clean_before + repeat
        return False

    @property
    def _lowest_p(self) -> float:
        """How seldom the tape in hand may fail, by what was seen: an estimate less its error."""
        p = (self._failed + 1) / (self._tried + 2)
        error = math.sqrt(p * (1 - p) / (self._tried + 2))
        return max(0.04, p - error)

    async def _fails(self, tape: Tape, run: Run) -> bool:
        self._runs += 1
        return await run(tape) == self._kind


def _clean_repeats(p: float) -> int:
    """Return how many clean repeats make it improbable that a tape fails with probability p."""
    return 1 if p >= 1 - DOUBT else math.ceil(math.log(DOUBT) / math.log(1 - p))


def _plainer(tape: Tape, place: int) -> Iterator[Tape]:
    """Yield the tape with a lower number at one place."""
    index = tape.choices[place].index
    for lower in dict.fromkeys((1, index - 1)):
        if 0 < lower < index:
            yield tape.with_indices({place: lower})


def _one_step_simpler(tape: Tape) -> list[Tape]:
    return [
        simpler
        for place in tape.deviations
        for simpler in (tape.without([place]), *_plainer(tape, place))
    ]


def _rank(kind: str) -> int:
    return ORDER.index(kind) if kind in ORDER else len(ORDER)
