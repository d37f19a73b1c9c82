"""What there is, as tables: for ``onecharge list`` and for the README, from the same rows.

``python -m onecharge.catalogues README.md docs/figures.md`` writes the tables anew, each between
its marks: ``<!-- table: scenarios -->`` and ``<!-- end -->``. What was measured stands in
``benchmarks/figures``, one file for each benchmark, written by its ``--json``: the README tells
what has a target, and what became of each race and each mutant; ``docs/figures.md`` tells all.
"""

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, get_args

from onecharge.invariants import invariants
from onecharge.scenario_file import library, read_scenario_file
from onecharge.service_file.described import fields
from onecharge.steps import Pay
from onecharge.targets import mutants
from simulator import catalogue
from simulator.core.faults import Fault
from simulator.core.messages import Seam


@dataclass(frozen=True)
class Table:
    """A table of texts with a title. Its first column holds ``names``, or else plain words."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: bool = True


def table_of(what: str) -> Table:
    """Return one of the tables, by the name of what it lists."""
    return TABLES[what]()


def as_markdown(table: Table) -> str:
    """Return the table as Markdown, names set as code."""
    rows = [
        (f"`{first}`" if table.names else _as_markdown(first), *map(_as_markdown, texts))
        for first, *texts in table.rows
    ]
    rule = ("---",) * len(table.headers)
    return "\n".join(f"| {' | '.join(row)} |" for row in (table.headers, rule, *rows))


def with_tables(text: str) -> str:
    """Return a Markdown text with what stands between the marks of tables written anew."""
    return _MARKED.sub(
        lambda marked: f"{marked[1]}\n\n{as_markdown(table_of(marked[2]))}\n\n{marked[3]}", text
    )


def _scenarios() -> Table:
    rows = []
    for name, path in library().items():
        scenario = read_scenario_file(path)
        file = scenario.file
        done = [str(table["fault"]) for table in file.faults]
        done += ["kill" for _ in file.kills]
        done += [step.do for step in file.steps if not isinstance(step, Pay)]
        classes = ", ".join(file.classes)
        rows.append((name, file.title, _counted(done), classes, _fairness(scenario.fair)))
    headers = ("name", "what happens", "faults and steps", "classes", "provider")
    return Table("Scenarios", headers, tuple(rows))


def _counted(names: Iterable[str]) -> str:
    """Name each once, and say how often it is there if it is more often."""
    counts = Counter(names)
    return ", ".join(name if n == 1 else f"{name} ({n})" for name, n in counts.items())


def _faults() -> Table:
    rows = [
        (name, _first_sentence(fault), _seams(fault), _fairness(fault.fair))
        for name, fault in catalogue.faults().items()
    ]
    return Table("Faults", ("name", "what goes wrong", "seams", "provider"), tuple(rows))


def _dialects() -> Table:
    rows = [
        (name, _first_sentence(inspect.getmodule(type(dialect))))
        for name, dialect in catalogue.dialects().items()
    ]
    return Table("Dialects", ("name", "which provider"), tuple(rows))


def _invariants() -> Table:
    rows = [(each.name, each.claim, ", ".join(sorted(each.needs))) for each in invariants()]
    return Table("Invariants", ("name", "what is claimed", "needs"), tuple(rows))


def _mutants() -> Table:
    rows = [
        (
            each.name,
            each.says,
            each.violates,
            each.shown_by or "",
            f"{each.bug_class}, {each.report}",
        )
        for each in mutants().values()
    ]
    headers = ("name", "the broken guard", "violates", "shown by", "class, report")
    return Table("Mutants", headers, tuple(rows))


@dataclass(frozen=True)
class _Figure:
    """One measured value. ``name`` is what was measured, ``measured`` the value with its unit."""

    name: str
    measured: str
    target: str


def _figures(path: Path) -> tuple[str, list[_Figure]]:
    """Return what one benchmark found, and its title with the day it was run."""
    told = json.loads(path.read_text(encoding="utf-8"))
    units, targets = told["units"], told["targets"]
    figures = [
        _Figure(name, f"{_number(value)} {units[name]}".rstrip(), targets.get(name, ""))
        for name, value in told["figures"].items()
    ]
    return f"**{told['title']}** ({told['when']}, Python {told['python']})", figures


def _number(value: float) -> str:
    whole = abs(value) >= 1_000 or value == int(value)
    return f"{value:,.0f}" if whole else f"{value:.3f}"


def _all_figures() -> Table:
    rows: list[tuple[str, ...]] = []
    for path in sorted(FIGURES.glob("*.json")):
        title, figures = _figures(path)
        rows.append((title, "", ""))
        rows += [(each.name, each.measured, each.target) for each in figures]
    return Table("Figures", _MEASURED, tuple(rows), names=False)


def _benchmarks() -> Table:
    rows: list[tuple[str, ...]] = []
    for path in sorted(set(FIGURES.glob("*.json")) - {_RACES}):
        title, figures = _figures(path)
        rows.append((title, "", ""))
        rows += [(each.name, each.measured, each.target) for each in figures if each.target]
    return Table("Benchmarks", _MEASURED, tuple(rows), names=False)


def _races() -> Table:
    """One row for each race: its figures are named ``races: which race: what of it``."""
    rows: dict[str, dict[str, str]] = {}
    for figure in _figures(_RACES)[1]:
        _, race, what = figure.name.split(": ")
        rows.setdefault(race, {})[what] = figure.measured
    columns = tuple(dict.fromkeys(what for row in rows.values() for what in row))
    told = [(race, *(row.get(what, "") for what in columns)) for race, row in rows.items()]
    return Table("Races", ("race", *columns), tuple(told), names=False)


def _museum() -> Table:
    """Tell of each mutant what its explorations came to: the usual time, and the worst of all."""
    known, of_each = mutants(), dict[str, list[dict[str, Any]]]()
    for run in json.loads((FIGURES / "museum.json").read_text(encoding="utf-8"))["runs"]:
        of_each.setdefault(run["mutant"], []).append(run)
    rows = []
    for name in sorted(known.keys() & of_each.keys()):
        runs = of_each[name]
        found = [run for run in runs if run["detected"]]
        if not found:
            rows.append((name, "not found", "", "", ""))
            continue
        by = ", ".join(dict.fromkeys(map(_found_by, found)))
        if len(found) < len(runs):
            by += f" ({len(found)} of {len(runs)} times)"
        seconds = median(run["found_s"] for run in found)
        again = min(found, key=lambda run: run["again"] / run["of"])
        steps = max(run["steps"] for run in found)
        rows.append((name, by, f"{seconds:.1f}", str(steps), f"{again['again']} of {again['of']}"))
    headers = ("mutant", "found by", "after s", "steps", "shown again")
    return Table("Museum", headers, tuple(rows))


def _found_by(run: dict[str, Any]) -> str:
    by_chance = " by chance" if run["by_chance"] else ""
    named = run["names"] in {run["kind"], *run.get("violated", ())}
    kind = "" if named else f", as {run['kind']}"
    return f"{run['part']}{by_chance}{kind}"


def _service_file() -> Table:
    rows = [(field.name, field.default, field.says) for field in fields()]
    return Table("Service file", ("field", "unless said", "what it says"), tuple(rows))


def _seams(fault: type[Fault]) -> str:
    return ", ".join(seam for seam in get_args(Seam) if fault.bends(seam))


def _as_markdown(text: str) -> str:
    return text.replace("``", "`").replace("|", r"\|")


def _fairness(fair: bool) -> str:  # noqa: FBT001 - the question is a yes or no
    return "fair" if fair else "unfair"


def _first_sentence(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


CATALOGUES: Final[dict[str, Callable[[], Table]]] = {
    "scenarios": _scenarios,
    "faults": _faults,
    "dialects": _dialects,
    "invariants": _invariants,
    "mutants": _mutants,
}
TABLES: Final = CATALOGUES | {
    "benchmarks": _benchmarks,
    "figures": _all_figures,
    "races": _races,
    "museum": _museum,
    "service_file": _service_file,
}
FIGURES: Final = Path(__file__).parents[1] / "benchmarks" / "figures"
_RACES: Final = FIGURES / "races.json"
_MEASURED: Final = ("figure", "measured", "target")

_MARKED: Final = re.compile(
    rf"(<!-- table: ({'|'.join(TABLES)}) -->)\n.*?(<!-- end -->)", re.DOTALL
)


def rewrite(path: Path) -> None:
    """Bring the tables of a page up to date."""
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        rewrite(page)
