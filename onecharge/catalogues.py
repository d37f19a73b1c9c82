"""What there is, as tables: for ``onecharge list`` and for the README, from the same rows.

``python -m onecharge.catalogues README.md`` writes the tables anew, each between its marks:
``<!-- table: scenarios -->`` and ``<!-- end -->``. The table of benchmarks is the README's alone;
it says what ``benchmarks/figures`` says, one file for each benchmark, written by its ``--json``.
"""

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

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


def _benchmarks() -> Table:
    rows = []
    for path in sorted(FIGURES.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        rows.append((f"**{told['title']}**", f"{told['when']}, Python {told['python']}", ""))
        for name, value in told["figures"].items():
            measured = f"{value:,.0f}" if value >= 1_000 else f"{value:.3f}"
            rows.append((name, f"{measured} {told['units'][name]}", told["targets"].get(name, "")))
    return Table("Benchmarks", ("figure", "measured", "target"), tuple(rows), names=False)


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
TABLES: Final = CATALOGUES | {"benchmarks": _benchmarks, "service_file": _service_file}
FIGURES: Final = Path(__file__).parents[1] / "benchmarks" / "figures"

_MARKED: Final = re.compile(
    rf"(<!-- table: ({'|'.join(TABLES)}) -->)\n.*?(<!-- end -->)", re.DOTALL
)

if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
