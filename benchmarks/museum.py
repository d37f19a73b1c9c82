"""Every mutant, explored as a user would explore it: what finds it, how soon, and how small.

    python benchmarks/museum.py [--mutant NAME]... [--seed N]... [--budget 60] [--json FILE]

For each mutant and seed ``onecharge explore`` is run as a command, and then ``onecharge run`` with
the counterexample that it wrote. Of a mutant it is told whether it was

- *reached*: its own code was run, in the place of the guard that it breaks;
- *triggered*: something was seen to be violated, if only once;
- *detected*: the exploration says so, with a kind. It counts if what the mutant's file names is
  violated in the history that shows it, first of all or beside others.

The clock starts behind the clean control. Runs that are not made stay in the file as they were.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from figures import Figures

from onecharge.targets import Mutant, mutants

BUDGET_S: Final = 60.0
MOST_STEPS: Final = 8
HERE: Final = Path(__file__).parent

Told = dict[str, Any]
"""What is told of one mutant and one seed."""


def main() -> None:
    """Explore, print, write."""
    chosen = _arguments()
    known = mutants()
    runs = {(run["mutant"], run["seed"]): run for run in _earlier(chosen.json)}
    failed = False
    for name in chosen.mutant or known:
        for seed in chosen.seed or [1]:
            try:
                told = explored(known[name], seed, chosen.budget)
            except BrokenOffError as reason:
                print(f"{name}: seed {seed}: broken off: {reason}", file=sys.stderr, flush=True)
                failed = True
                continue
            runs[name, seed] = told
            print(_in_a_line(told), flush=True)
            if chosen.json:
                _write(chosen.json, [run for run in runs.values() if run["mutant"] in known])
    if runs:
        figures_of(list(runs.values())).show()
    sys.exit(failed)


class BrokenOffError(Exception):
    """The command came to no verdict; the message is what it said."""


def explored(mutant: Mutant, seed: int, budget_s: float) -> Told:
    """Explore a mutant in a folder of its own, and repeat what was found."""
    with tempfile.TemporaryDirectory(prefix="museum-") as temporary:
        folder = Path(temporary)
        began_s = time.monotonic()
        verdict = _onecharge(
            folder,
            *("explore", "--mutant", mutant.name),
            *("--budget", f"{budget_s:g}", "--seed", str(seed)),
        )
        took_s = time.monotonic() - began_s
        parts: list[Told] = verdict["explored"]
        part = next((each for each in parts if each["found"]), None)
        told = {
            "mutant": mutant.name,
            "seed": seed,
            "budget_s": budget_s,
            "names": mutant.violates,
            "reached": (folder / REACHED).exists(),
            "triggered": part is not None or any(each["doubt"] for each in parts),
            "detected": part is not None,
            "runs": sum(each["runs"] for each in parts),
            "took_s": round(took_s, 1),
        }
        violated = [each["name"] for each in verdict["invariants"] if each["violations"]]
        return told if part is None else told | {"violated": violated} | _found(folder, part)


def _found(folder: Path, part: Told) -> Told:
    found = part["found"]
    told = {
        "part": part["name"],
        "by_chance": found["by_chance"],
        "kind": found["kind"],
        "found_s": found["seconds"],
        "steps": len(found["steps"]),
        "says": found["steps"],
        "again": found["failed"],
        "of": found["of"],
        "repeats": False,
    }
    if found["file"]:
        repeated = _onecharge(folder, "run", found["file"], *_words(found["repeat"]))
        told["repeats"] = found["kind"] in {
            invariant["name"] for invariant in repeated["invariants"] if invariant["violations"]
        }
    return told


def _words(repeat: str) -> list[str]:
    """Return what the repeat command says behind its file."""
    _, _, _, *words = repeat.split()
    return words


def _onecharge(folder: Path, *words: str) -> Told:
    """Run the command to its end and return its verdict."""
    verdict = folder / "verdict.json"
    verdict.unlink(missing_ok=True)
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "onecharge", *words, "--json", str(verdict)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": _path(), REACHED.upper(): str(folder / REACHED)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not verdict.exists():
        raise BrokenOffError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    told: Told = json.loads(verdict.read_text())
    return told


REACHED: Final = "museum_reached"
"""The file that a mutant leaves when its own code runs, and what names it to the service."""


def _path() -> str:
    """Return a path on which Python finds what tells that a mutant was reached."""
    there = [str(HERE / "reaching"), str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, there))


def figures_of(runs: Sequence[Told]) -> Figures:
    """Return what the runs come to, all together."""
    figures = Figures("the museum")
    budget_s = max(run["budget_s"] for run in runs)
    named = [run for run in runs if _counts(run)]
    figures.add("mutants", len({run["mutant"] for run in runs}))
    figures.add("explorations, each of one mutant and one seed", len(runs))
    for what in ("reached", "triggered", "detected"):
        figures.add(what, sum(run[what] for run in runs), "", str(len(runs)))
    figures.add("detected as its file says", len(named), "", str(len(runs)))
    for within_s in (5.0, budget_s):
        soon = sum(run["found_s"] <= within_s for run in named)
        figures.add(f"detected within {within_s:g} s", 100 * soon / len(runs), "%")
    if named:
        took_s = sorted(run["found_s"] for run in named)
        figures.add("time to detection, median", statistics.median(took_s), "s")
        figures.add("time to detection, 90 of 100", took_s[int(0.9 * (len(took_s) - 1))], "s")
        most = max(run["steps"] for run in named)
        figures.add("steps of the longest counterexample", most, "", f"<= {MOST_STEPS}")
        figures.add(
            "shown again by its file", sum(run["repeats"] for run in named), "", str(len(named))
        )
    return figures


def _counts(run: Told) -> bool:
    return run["detected"] is True and run["names"] in {run["kind"], *run.get("violated", ())}


def _in_a_line(run: Told) -> str:
    if not run["detected"]:
        seen = [what if run[what] else f"not {what}" for what in ("reached", "triggered")]
        return (
            f"{run['mutant']}: seed {run['seed']}: {', '.join(seen)}, NOT FOUND: {run['runs']} runs"
        )
    other = "" if _counts(run) else f" instead of {run['names']}"
    again = f"{run['again']}/{run['of']}"
    shown = "" if run["repeats"] else ", NOT SHOWN AGAIN"
    return (
        f"{run['mutant']}: seed {run['seed']}: {run['part']}: {run['kind']}{other} after "
        f"{run['found_s']:.1f} s, {run['steps']} step(s), {again}{shown}, {run['took_s']} s in all"
    )


def _write(path: Path, runs: Iterable[Told]) -> None:
    ordered = sorted(runs, key=lambda run: (run["mutant"], run["seed"]))
    figures_of(ordered).write(path, runs=ordered)


def _earlier(path: Path | None) -> Iterator[Told]:
    """Yield what an earlier run left in the file."""
    if path is not None and path.is_file():
        yield from json.loads(path.read_text())["runs"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mutant", action="append", choices=list(mutants()), metavar="NAME", help="this one only"
    )
    parser.add_argument("--seed", action="append", type=int, metavar="N", help="instead of 1")
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="S")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything here as well")
    return parser.parse_args()


if __name__ == "__main__":
    main()
