"""How long every single trouble and every pair of them take, and what they find.

    python benchmarks/levels.py [--quick] [--mutant NAME]... [--json FILE]

On the reference: level 1 and level 2, their counts, seconds, and the processor time of everything
that runs, the service and its database included. With ``--mutant``, of each of these the level that
finds it and the seconds since the control. ``--quick`` leaves level 2 out.
"""

import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from figures import Figures, arguments

from onecharge.combinations.level import Level
from onecharge.combinations.levels import Combinations
from onecharge.control import clean_control
from onecharge.loops import run_to_end
from onecharge.targets import target
from onecharge.world.world import standing

SEED = 1
TARGETS = {1: "<= 10 s", 2: "<= 90 s"}
BUDGET_S = 600.0


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--mutant", action="append", default=[], help="measure this one instead")
    chosen = parser.parse_args()
    figures = Figures("every single trouble, and every pair")
    for mutant in chosen.mutant or [""]:
        run_to_end(measure(figures, mutant, most=1 if chosen.quick else 2))
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


async def measure(figures: Figures, mutant: str, most: int) -> None:
    """Play the levels of the reference, or of one mutant."""
    wanted = target(None, mutant or None)
    with tempfile.TemporaryDirectory() as folder:
        async with standing(wanted.service_file, Path(folder), seed=SEED, mutant=mutant) as world:
            passed = await clean_control(world, SEED)
            bound_s = passed.bound_s(wanted.service_file.timing.settles_within_s)
            combinations = Combinations.of(world, seed=SEED, bound_s=bound_s, tied=passed.tied)
            began_s, used_s = time.monotonic(), processor_s()
            since_s = began_s

            def within() -> bool:
                return time.monotonic() - since_s < BUDGET_S

            for level in combinations.levels(within):
                await combinations.play(level, within)
                took_s, cpu_s = time.monotonic() - began_s, processor_s() - used_s
                tell(figures, mutant or "reference", level, took_s, cpu_s)
                if level.number == most:
                    break
                began_s, used_s = time.monotonic(), processor_s()


def tell(figures: Figures, whose: str, level: Level, took_s: float, cpu_s: float) -> None:
    """Add what became of one level."""
    for sentence in level.sentences():
        print(f"{whose}: {sentence}")
    name = f"{whose}: level {level.number}"
    figures.add(name, took_s, "s", TARGETS[level.number] if whose == "reference" else "")
    figures.add(f"{name}, processor time", cpu_s, "s")
    figures.add(f"{name}, rows", level.played)
    figures.add(f"{name}, exercised in full", len(level.in_full))
    figures.add(f"{name}, in doubt", len(level.doubts), "", "0" if whose == "reference" else "")
    if level.number == 2:
        figures.add(f"{name}, pairs", len(level.space.pairs))
        figures.add(f"{name}, pairs that came about", len(level.together))
    if level.found is not None:
        print(f"{whose}: {level.found.kind}: {level.found.scenario.file.title}")
    found = 0 if level.found is None else level.found.after
    figures.add(f"{name}, found after rows", found, "", "0" if whose == "reference" else "")


def processor_s() -> float:
    """Return the processor time of us and all that we started, as far as it still runs."""
    used_s = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used_s += times.user + times.system + times.children_user + times.children_system
    return used_s


if __name__ == "__main__":
    main()
