"""From a combination that breaks a service to the smallest one that still does, as a scenario.

Rule 1: a row is a tape whose choices are its factors, so that shrinking is the one of every tape:
        troubles are tried away first, then plainer ones are tried.
Rule 2: repeats of one row are made side by side, a batch at a time: shrinking takes them one by
        one, and what it does not take is kept for the next time it asks.
Rule 3: where it is found that something never ends, a row that is late is taken for one that never
        ends: on the way to the smallest it is waited for no longer than anything is. The last
        repeats are one batch, waited for as long as it takes to tell.
Rule 4: of rows that violate the same it is begun with one that does so every time.
"""

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from typing import Final

from onecharge.combinations.level import Found
from onecharge.combinations.levels import Within
from onecharge.combinations.playing import Playing
from onecharge.combinations.rows import Row, Space
from onecharge.combinations.writing import scenario_of
from onecharge.engine.tapes.shrinking import MOST_REPEATS, Shrunk, shrunk
from onecharge.engine.tapes.tape import Choice, Tape
from onecharge.healing import CONFIRM
from onecharge.scenario_file import Scenario
from onecharge.side_by_side import LIVENESS

BATCH: Final = 10
"""So many repeats of one row are made at once."""

MOST_RUNS: Final = 400

_RIVALS: Final = 4


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest combination: as a scenario, and how often it broke the service of how many."""

    scenario: Scenario
    row: Row
    shrunk: Shrunk

    def __str__(self) -> str:
        return f"{self.shrunk.kind} in {self.shrunk.failed} of {self.shrunk.of} repeats"


async def surest(playing: Playing, found: Found) -> Found:
    """Return what was found, or of its rivals the one that violates the same most often.

    They are played a few times each, side by side; what only takes long is not played again.
    """
    if not found.rivals or found.kind in LIVENESS:
        return found
    played = await playing.by_turns([found.row, *found.rivals[:_RIVALS]], "rivals")
    plays = Counter(one.row for one in played)
    shown = Counter(one.row for one in played if one.kind == found.kind)
    row = max(plays, key=lambda row: shown[row] / plays[row])
    return replace(found, row=row, scenario=scenario_of(playing.space, row, "counterexample"))


async def smallest(
    playing: Playing, found: Found, *, most_runs: int = MOST_RUNS, within: Within = lambda: True
) -> Smallest:
    """Shrink what was found by playing it again and again; flakiness is allowed for."""
    repeats = _Repeats(playing, found.kind)
    small = await shrunk(
        as_tape(playing.space, found.row),
        found.kind,
        repeats.run,
        repeat=repeats.waited_for if found.kind in LIVENESS else None,
        most_runs=most_runs,
        within=within,
    )
    row = as_row(playing.space, small.tape)
    return Smallest(scenario_of(playing.space, row, "counterexample"), row, small)


def as_tape(space: Space, row: Row) -> Tape:
    """Return the row as choices, one for each factor."""
    return Tape(
        tuple(
            Choice(factor.kind, index, factor.values[index].name, factor.boring.name)
            if index
            else Choice(factor.kind)
            for factor, index in zip(space.factors, row.indices, strict=True)
        )
    )


def as_row(space: Space, tape: Tape) -> Row:
    """Return the row of a tape; beyond its end every factor is boring."""
    return space.row({place: tape.choices[place].index for place in tape.deviations})


class _Repeats:
    """Runs of rows, made a batch at a time and handed out one by one."""

    def __init__(self, playing: Playing, kind: str) -> None:
        self._playing = playing
        self._late = kind if kind in LIVENESS else None
        self._kinds: dict[tuple[Row, int], deque[str | None]] = defaultdict(deque)

    async def run(self, tape: Tape) -> str | None:
        """Return the kind of what one more run of the tape violates, None if nothing."""
        return await self._next(tape, BATCH, bounds=1)

    async def waited_for(self, tape: Tape) -> str | None:
        """Do the same, but wait for what may only be late: alone, it was found to be violated."""
        return await self._next(tape, MOST_REPEATS, bounds=CONFIRM)

    async def _next(self, tape: Tape, batch: int, *, bounds: int) -> str | None:
        row = as_row(self._playing.space, tape)
        if not row.places or not self._playing.space.allows(row):
            return None
        kinds = self._kinds[row, bounds]
        if not kinds:
            played = await self._playing.together([row] * batch, "shrunk", bounds=bounds)
            kinds += [self._late if one.late and self._late else one.kind for one in played]
        return kinds.popleft()


assert MOST_REPEATS % BATCH == 0, "the last repeats are whole batches"
