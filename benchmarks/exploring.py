"""What the explorer reaches on the reference, and whether a run repeats itself.

    python benchmarks/exploring.py [--scopes | --repeatable | --chance] [--quick] [--json FILE]

- ``--scopes``: every scope on the reference to its end: how many orders there are, how long a run
  takes, and that none of them violates anything;
- ``--repeatable``: the same tape fifty times, on the reference and on ten mutants, each with
  single releases that chance chose once: how many histories are the first one again, without
  what differs whenever something happens (``onecharge/history/sameness.py``);
- ``--chance``: ten seeds of the random engine on the reference, each for thirty seconds.

Without a choice, all of it, one after the other.
"""

import argparse
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from figures import Figures, arguments

from onecharge.control import clean_control
from onecharge.engine.chooser import Priorities, Replay, Taping
from onecharge.engine.explorer import explored
from onecharge.engine.scope import Scope
from onecharge.engine.stage import SCOPES, Stage
from onecharge.engine.tape import Tape
from onecharge.history.sameness import retold
from onecharge.loops import run_to_end
from onecharge.service_file import read_service_file
from onecharge.world.world import standing

REFERENCE: Final = Path(__file__).parents[1] / "reference_impl" / "onecharge.toml"
MUTANTS: Final = (
    "claim_cleared_before_the_result",
    "key_ignored",
    "keys_in_process_memory",
    "live_owner_overtaken",
    "no_client_key_guard",
    "replay_as_success",
    "unknown_recorded_as_failed",
    "upstream_key_by_amount",
    "upstream_key_per_attempt",
    "upstream_key_per_process",
)
REPEATS: Final = 50
SEEDS: Final = 10
SECONDS: Final = 30.0
STEPS: Final = 13
"""About so many releases there are in a run of two requests."""


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__ or "")
    for name in ("scopes", "repeatable", "chance"):
        parser.add_argument(f"--{name}", action="store_true")
    chosen = parser.parse_args()
    figures = Figures("the explorer on the reference")
    run_to_end(measure(figures, chosen))
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


async def measure(figures: Figures, chosen: argparse.Namespace) -> None:
    """Measure what was chosen, or everything."""
    everything = not (chosen.scopes or chosen.repeatable or chosen.chance)
    if chosen.scopes or everything:
        await scopes(figures)
    if chosen.repeatable or everything:
        for mutant in ("", *MUTANTS[:1]) if chosen.quick else ("", *MUTANTS):
            await repeatable(figures, mutant, REPEATS // 10 if chosen.quick else REPEATS)
    if chosen.chance or everything:
        for seed in range(1, 2 if chosen.quick else SEEDS + 1):
            await chance(figures, seed, SECONDS / 10 if chosen.quick else SECONDS)


async def scopes(figures: Figures) -> None:
    """Explore every scope to its end, and say how many orders there are."""
    file = read_service_file(REFERENCE)
    for scope in SCOPES.values():
        if why_not := scope.why_not(file):
            print(f"{scope.name}: not applicable, {why_not}")
            continue
        async with stage_of(scope) as stage:
            began_s = time.monotonic()
            coverage = stage.coverage()
            result = await explored(
                stage.make, coverage, systematically=lambda: True, by_chance=lambda: False
            )
            await stage.judged()
            took_s = time.monotonic() - began_s
        assert result.found is None, result.found
        assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
        print(f"{scope.name}: {'; '.join(coverage.sentences())}")
        figures.add(f"{scope.name}: orders executed", len(coverage.orders))
        figures.add(f"{scope.name}: in all, with healing and judging", took_s, "s")
        figures.add(f"{scope.name}: one run", took_s / coverage.runs * 1_000, "ms")


async def repeatable(figures: Figures, mutant: str, repeats: int) -> None:
    """Make one run that chance chose, and then the same again and again."""
    async with stage_of(SCOPES["two-requests"], mutant) as stage:
        first = Taping(Priorities(len(mutant) + 1, depth=3, steps=STEPS))
        await stage.make(first, all_at_once=False)
        told = [await _told(stage, first.tape) for _ in range(repeats + 1)]
        await stage.judged()
    same = sum(one == told[0] for one in told[1:])
    target = f"{repeats} of {repeats}"
    figures.add(f"{mutant or 'reference'}: the same history", same, f"of {repeats}", target)


async def _told(stage: Stage, tape: Tape) -> tuple[str, ...]:
    """Make a run by a tape, and return what happened in it."""
    await stage.make(Replay(tape), all_at_once=False)
    order = list(stage.courses)[-1]
    in_the_run = [r for r in stage.records if r.lane != "judge" and "healer" not in r.lane]
    return (*stage.courses[order].releases, *retold(in_the_run, order))


async def chance(figures: Figures, seed: int, seconds: float) -> None:
    """Let the random engine run for a while on the reference."""
    async with stage_of(SCOPES["two-requests"], seed=seed) as stage:
        end_s = time.monotonic() + seconds
        coverage = stage.coverage()
        result = await explored(
            stage.make,
            coverage,
            systematically=lambda: False,
            by_chance=lambda: time.monotonic() < end_s,
            seed=seed,
        )
        await stage.judged()
    assert result.found is None, result.found
    assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
    figures.add(f"seed {seed}: runs by chance without a violation", coverage.sampled)


@asynccontextmanager
async def stage_of(scope: Scope, mutant: str = "", *, seed: int = 1) -> AsyncIterator[Stage]:
    """Yield a stage with the reference or one of its mutants on it."""
    file = read_service_file(REFERENCE)
    with tempfile.TemporaryDirectory(prefix="exploring-") as folder:
        async with standing(file, Path(folder), seed=seed, mutant=mutant, gated=True) as world:
            await clean_control(world, seed=seed)
            async with Stage.set_up(
                world, scope, seed=seed, bound_s=file.timing.settles_within_s or 10, repeat=""
            ) as stage:
                yield stage


if __name__ == "__main__":
    main()
