"""Shrinking a violation that only a judge sees, when a batch of orders has healed.

Rule 1: candidates are run in one batch, each with an order of its own, and judged together:
        healing takes its time, and takes it once for all of them.
Rule 2: what let several events go at once is tried with their order pinned first, as elsewhere
        (``engine/tapes/shrinking.py``).
Rule 3: a candidate that shows the same violation is taken, the smallest first. A claim that names
        no order blames nobody in a batch: then runs are made one by one, a few of them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from onecharge.engine.explorer import Found, pinned
from onecharge.engine.stage import Stage
from onecharge.engine.tapes.chooser import Replay
from onecharge.engine.tapes.shrinking import CONFIRMED_BY, MOST_REPEATS, Pinned, Shrunk
from onecharge.engine.tapes.tape import Tape

_ALL: Final = 100
"""More than are run in one batch."""
_TWICE: Final = 2
_CANDIDATES: Final = 12
_ALONE: Final = 5


async def shrunk_in_batches(
    stage: Stage, found: Found, within: Callable[[], bool] = lambda: True
) -> Shrunk:
    """Return the smallest tape near the one that was found, which violated its kind once.

    ``within`` tells whether there is time for another batch: what never settles takes long.
    """
    kind = found.kind
    tape, is_pinned, runs = await _the_surer(stage, found)
    minimal = False
    while within():
        candidates = list(islice(_simpler(tape), _CANDIDATES))
        if minimal := not candidates:
            break
        tried = [candidate for candidate in candidates for _ in range(_TWICE)]
        failed = await _fail(stage, tried, kind)
        failing = [one for one, fails in zip(tried, failed, strict=True) if fails]
        runs += len(tried)
        if minimal := not failing:
            break
        tape = min(failing, key=lambda one: one.size)
    again = await _fail(stage, [tape] * MOST_REPEATS, kind)
    if not any(again):
        again = [any(await _fail(stage, [tape], kind)) for _ in range(_ALONE)]
    return Shrunk(tape, kind, sum(again), len(again), runs + len(again), minimal, is_pinned)


async def _the_surer(stage: Stage, found: Found) -> tuple[Tape, Pinned | None, int]:
    """Return the tape that was found or the pinned one, whichever fails more often; and the runs.

    Where nothing went on at once, there is nothing to pin.
    """
    tape = found.tape.trimmed
    if not Replay(tape).all_at_once:
        return tape, None, 0
    candidate = await pinned(stage.make, found)
    if candidate is None:
        return tape, None, 1
    tried = [tape] * CONFIRMED_BY + [candidate.trimmed] * CONFIRMED_BY
    failed = await _fail(stage, tried, found.kind)
    before, since = sum(failed[:CONFIRMED_BY]), sum(failed[CONFIRMED_BY:])
    if since <= before:
        return tape, None, 1 + len(tried)
    return candidate.trimmed, Pinned(before, since), 1 + len(tried)


async def _fail(stage: Stage, tapes: Sequence[Tape], kind: str) -> list[bool]:
    """Make one run of each tape and judge them together: whose order shows the violation."""
    stage.batch = _ALL  # we say ourselves when to judge
    orders = []
    for tape in tapes:
        replay = Replay(tape)
        await stage.make(replay, replay.all_at_once)
        orders.append(next(reversed(stage.tapes)))
    verdict = await stage.judged()
    assert verdict is not None, "judged, and nothing was run"
    shown_by = verdict.orders_violating(kind)
    return [order in shown_by or (None in shown_by and len(tapes) == 1) for order in orders]


def _simpler(tape: Tape) -> Iterator[Tape]:
    """Yield tapes with fewer deviations, and then plainer ones, each once."""
    places = tape.deviations
    if not places:
        return
    candidates = [tape.without(places), *(tape.without([place]) for place in places)]
    half = len(places) // 2
    if half > 1:
        candidates += [tape.without(places[:half]), tape.without(places[half:])]
    candidates += [
        tape.with_indices({place: 1}) for place in places if tape.choices[place].index > 1
    ]
    yield from dict.fromkeys(candidates)
