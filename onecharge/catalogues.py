"""What there is, as tables: for ``onecharge list`` and for the README, from the same rows."""

import inspect
from dataclasses import dataclass
from typing import get_args

from onecharge.invariants import invariants
from onecharge.scenario_file import library, read_scenario_file
from onecharge.targets import mutants
from simulator import catalogue
from simulator.core.faults import Fault
from simulator.core.messages import Seam


@dataclass(frozen=True)
class Table:
    """A table of texts with a title."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def table_of(what: str) -> Table:
    """Return one of the tables: scenarios, faults, dialects, invariants or mutants."""
    return {
        "scenarios": _scenarios,
        "faults": _faults,
        "dialects": _dialects,
        "invariants": _invariants,
        "mutants": _mutants,
    }[what]()


def _scenarios() -> Table:
    rows = []
    for name, path in library().items():
        scenario = read_scenario_file(path)
        faults = [str(table["fault"]) for table in scenario.file.faults]
        faults += ["kill" for _ in scenario.file.kills]
        rows.append((name, scenario.file.title, ", ".join(faults), _fairness(scenario.fair)))
    return Table("Scenarios", ("name", "what happens", "faults", "provider"), tuple(rows))


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
        (each.name, each.says, each.violates, f"{each.bug_class}, {each.report}")
        for each in mutants().values()
    ]
    return Table("Mutants", ("name", "the broken guard", "violates", "class, report"), tuple(rows))


def _seams(fault: type[Fault]) -> str:
    return ", ".join(seam for seam in get_args(Seam) if fault.bends(seam))


def _fairness(fair: bool) -> str:  # noqa: FBT001 - the question is a yes or no
    return "fair" if fair else "unfair"


def _first_sentence(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")
