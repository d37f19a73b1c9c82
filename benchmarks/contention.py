"""Right services on a machine that has no time for them: run after run, and no alarm.

    python benchmarks/contention.py [--runs 20] [--example NAME] [--seed 1] [--json FILE]

Two runs for each core go on at any time, so none has the time that it would like. Every example
that is right is verified with the scenarios in which each boundary repeats itself, each run with
a seed of its own. Exit code 1 if a right service was called violated: what was said is printed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Final

from figures import Figures, arguments

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.examples.conftest import AT_EVERY_BOUNDARY, EXAMPLES
from tests.examples.test_four_ways_to_take_money import quick, running

RIGHT: Final = (
    "fastapi_stripe",
    "django_orm",
    "express_stripe",
    "behind_login",
    "price_list",
    "webhook_first",
    "queue_202",
)
ATTACHED: Final = frozenset({"queue_202"})
ENDED: Final = {0: "holds", 1: "violated", 2: "not begun", 3: "unknown"}
"""What a run's exit code says; where not even the clean control had its time, nothing begins."""


def main() -> int:
    """Run, count, print, and return 1 on a false alarm."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--example", choices=RIGHT, action="append")
    asked = parser.parse_args()
    runs = max(1, asked.runs // 10) if asked.quick else asked.runs
    figures = Figures(f"right services under contention, {runs} runs each")
    names = asked.example or RIGHT
    seeds = range(asked.seed, asked.seed + runs)
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as side_by_side:
        ended = list(side_by_side.map(lambda run: (run[1], one_run(*run)), product(seeds, names)))
    counts = Counter(ended)
    for name, verdict in product(names, ENDED.values()):
        target = "0" if verdict == "violated" else ""
        figures.add(f"{name}: {verdict}", counts[name, verdict], "runs", target)
    figures.show()
    if asked.json:
        figures.write(asked.json)
    return int(any(verdict == "violated" for _, verdict in ended))


def one_run(seed: int, name: str) -> str:
    """Verify a copy of an example once, and return the verdict."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        copy = Path(folder) / name
        shutil.copytree(EXAMPLES / name, copy, ignore=shutil.ignore_patterns("*.db", ".onecharge"))
        if (EXAMPLES / "node_modules").is_dir():
            (Path(folder) / "node_modules").symlink_to(EXAMPLES / "node_modules")
        file = quick(copy / "onecharge.toml")
        if name in ATTACHED:
            file = stack.enter_context(running(file))
        scenarios = [word for each in AT_EVERY_BOUNDARY for word in ("--scenario", each)]
        command = [sys.executable, "-m", "onecharge", "verify", "--service", str(file)]
        ended = subprocess.run(  # noqa: S603 - our own command
            [*command, *scenarios, "--seed", str(seed)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    verdict = ENDED[ended.returncode]
    print(f"{name} {seed}: {verdict}", flush=True)
    if verdict != "holds":
        print(ended.stdout[-4_000:], ended.stderr[-4_000:], flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
