"""What the explorer reaches on the reference, and whether a run repeats itself.

    python benchmarks/exploring.py [--services] [--scopes [--scope NAME …] [--seconds S]]
                                   [--repeatable] [--chance] [--quick] [--json FILE]

- ``--services``: four plain services (``tests/engine/services/shop.py``): how soon after its clean
  control each of the wrong ones is found, and the right one in every order;
- ``--scopes``: every scope on the reference to its end, or for so many seconds: how many orders
  there are, how long a run takes, and that none of them violates anything. What was covered is
  printed in the explorer's own sentences;
- ``--repeatable``: the same tape fifty times, on the reference and on ten mutants, each with
  single releases that chance chose once and background loops off: how many histories are the
  first one again, without what differs whenever something happens
  (``onecharge/history/sameness.py``). Without a target: with the reconciler's loop on, and with
  a tape that lets everything go at once;
- ``--chance``: ten seeds of the random engine on the reference, each for thirty seconds.

Without a choice, all of it, one after the other. Figures of what is not run stay in the file.
"""

import argparse
import difflib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # the plain services are those of the tests

from figures import Figures, arguments

from onecharge.control import clean_control
from onecharge.engine.explorer import explored
from onecharge.engine.scope import Scope
from onecharge.engine.stage import SCOPES, Stage
from onecharge.engine.tapes.chooser import Chooser, InStep, Priorities, Replay, Taping
from onecharge.engine.tapes.tape import Tape
from onecharge.history.sameness import retold
from onecharge.loops import run_to_end
from onecharge.service_file import read_service_file
from onecharge.world.world import standing
from tests.engine.races import Race, world_of
from tests.engine.races import stage_of as stage_of_race

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
RIGHT: Final = "on_conflict"
GUARDS: Final = (RIGHT, "look_first", "not_exists", "lock_nothing")
REPEATS: Final = 50
SEEDS: Final = 10
SECONDS: Final = 30.0
SCOPE_S: Final = 120.0
"""For so long a scope is explored at most."""
STEPS: Final = 13
"""About so many releases there are in a run of two requests."""


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__ or "")
    for name in ("services", "scopes", "repeatable", "chance"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--scope", action="append", choices=sorted(SCOPES), help="only this one")
    parser.add_argument("--seconds", type=float, default=SCOPE_S, help="for each scope, at most")
    chosen = parser.parse_args()
    figures = Figures("the explorer on the reference")
    run_to_end(measure(figures, chosen))
    figures.show()
    if chosen.json:
        figures.write(chosen.json, keeping=True)


async def measure(figures: Figures, chosen: argparse.Namespace) -> None:
    """Measure what was chosen, or everything."""
    everything = not (chosen.services or chosen.scopes or chosen.repeatable or chosen.chance)
    if chosen.services or everything:
        for guard in GUARDS:
            await service(figures, guard)
    if chosen.scopes or everything:
        for name in chosen.scope or SCOPES:
            await explore(figures, SCOPES[name], chosen.seconds / (10 if chosen.quick else 1))
    if chosen.repeatable or everything:
        await repeat(figures, quick=chosen.quick)
    if chosen.chance or everything:
        for seed in range(1, 2 if chosen.quick else SEEDS + 1):
            await chance(figures, seed, SECONDS / 10 if chosen.quick else SECONDS)


async def service(figures: Figures, guard: str) -> None:
    """Explore one plain service until it is found to be wrong, or to its end."""
    plain = Race(guard, guard, "two-requests", shop="onecharge.toml", env="GUARD")
    with tempfile.TemporaryDirectory(prefix="exploring-") as folder:
        async with world_of(plain, Path(folder) / "run") as world:
            began_s = time.monotonic()
            async with stage_of_race(plain, world) as stage:
                coverage = stage.coverage()
                result = await explored(
                    stage.make, coverage, systematically=lambda: True, by_chance=lambda: False
                )
                took_s = time.monotonic() - began_s
                await stage.judged()
    assert (result.found is None) == (guard == RIGHT), result.found
    if result.found is None:
        figures.add(f"{guard}: orders, all there are", len(coverage.orders) + coverage.renamed)
        figures.add(f"{guard}: in all", took_s, "s")
    else:
        figures.add(f"{guard}: found after", took_s, "s", "<= 2 s")


async def explore(figures: Figures, scope: Scope, seconds: float) -> None:
    """Explore one scope to its end, and say how many orders there are."""
    if why_not := scope.why_not(read_service_file(REFERENCE)):
        print(f"{scope.name}: not applicable, {why_not}", flush=True)
        return
    async with stage_of(scope) as stage:
        began_s = time.monotonic()
        coverage = stage.coverage()
        result = await explored(
            stage.make,
            coverage,
            systematically=lambda: time.monotonic() - began_s < seconds,
            by_chance=lambda: False,
        )
        await stage.judged()
        took_s = time.monotonic() - began_s
    assert result.found is None, result.found
    assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
    print(f"{scope.name}: {'; '.join(coverage.sentences())}", flush=True)
    if coverage.exhausted:
        figures.add(f"{scope.name}: orders, all there are", len(coverage.orders) + coverage.renamed)
    elif coverage.complete and not (coverage.astray or coverage.unlike or coverage.swept):
        figures.add(f"{scope.name}: all orders up to so many deviations", coverage.complete)
    figures.add(f"{scope.name}: runs", coverage.runs)
    figures.add(f"{scope.name}: in all, with healing and judging", took_s, "s")
    figures.add(f"{scope.name}: one run", took_s / coverage.runs * 1_000, "ms")


async def repeat(figures: Figures, *, quick: bool) -> None:
    """Make the same runs again and again: those that have to repeat themselves, and others."""
    repeats = REPEATS // 10 if quick else REPEATS
    services = ("", *MUTANTS[:1]) if quick else ("", *MUTANTS)
    always = 0
    for mutant in services:
        by_chance = Priorities(len(mutant) + 1, depth=3, steps=STEPS)
        same = await repeated(by_chance, repeats, mutant)
        always += same == repeats
        figures.add(f"{mutant or 'reference'}: the same history", same, f"of {repeats}")
    of = len(services)
    name = f"one tape on each of {of} services: {repeats} repeats are the same history"
    figures.add(name, always, f"of {of}", f"{of} of {of}")
    same = await repeated(Priorities(1, depth=3, steps=STEPS), repeats, loops=True)
    figures.add("reference, with its loops on: the same history", same, f"of {repeats}")
    same = await repeated(InStep(), repeats, all_at_once=True)
    figures.add("reference, all at once: the same history", same, f"of {repeats}")


async def repeated(
    chooser: Chooser,
    repeats: int,
    mutant: str = "",
    *,
    all_at_once: bool = False,
    loops: bool = False,
) -> int:
    """Make a run that a chooser chose once more and so many times; how many are the same."""
    async with stage_of(SCOPES["two-requests"], mutant, loops=loops) as stage:
        first = Taping(chooser)
        await stage.make(first, all_at_once=all_at_once)
        told = [await _told(stage, first.tape, all_at_once) for _ in range(repeats + 1)]
        await stage.judged()
    for others, nth in Counter(told).items():
        if others != told[0]:
            print(f"{mutant or 'reference'}: {nth} time(s) another history:")
            print("\n".join(difflib.unified_diff(told[0], others, lineterm="", n=2)), flush=True)
    return sum(one == told[0] for one in told[1:])


async def _told(stage: Stage, tape: Tape, all_at_once: bool) -> tuple[str, ...]:  # noqa: FBT001
    """Make a run by a tape, and return what happened in it."""
    await stage.make(Replay(tape), all_at_once=all_at_once)
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
async def stage_of(
    scope: Scope, mutant: str = "", *, seed: int = 1, loops: bool = False
) -> AsyncIterator[Stage]:
    """Yield a stage with the reference or one of its mutants on it, its ``loops`` off or on."""
    file = read_service_file(REFERENCE)
    if loops:
        usual = file.explore.model_copy(update={"env": {}})
        file = file.model_copy(update={"explore": usual})
    with tempfile.TemporaryDirectory(prefix="exploring-") as folder:
        async with standing(file, Path(folder), seed=seed, mutant=mutant, gated=True) as world:
            await clean_control(world, seed=seed)
            async with Stage.set_up(
                world, scope, seed=seed, bound_s=file.timing.settles_within_s or 10, repeat=""
            ) as stage:
                yield stage


if __name__ == "__main__":
    main()
