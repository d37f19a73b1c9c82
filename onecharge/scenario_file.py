"""A scenario file: what customers do, what goes wrong, and who is killed. Data only.

Rule 1: a scenario is fair when all its faults are; no file can say otherwise.
Rule 2: orders are named by their serial, from 1; ids, keys and amounts follow from the seed.
Rule 3: everything that a file plans must happen, or its verdict is *unknown*.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from onecharge.toml_file import FileError, Section, field_name, line_of, read_toml, validated
from simulator.catalogue import PlanError, rules_from, table_from
from simulator.core.messages import Seam
from simulator.core.rules import Rule
from simulator.faults.hold import Hold

SCENARIOS = "scenarios"

_PLACE = re.compile(r"rules\[(\d+)\]\.(.+)")

Seconds = Annotated[float, Field(gt=0, le=600)]
Milliseconds = Annotated[int, Field(ge=0, le=600_000)]
Serial = Annotated[int, Field(ge=1, le=10_000)]


class Customer(Section):
    """How every customer of the scenario presses *Pay*.

    ``presses`` requests with one key leave at once; whoever has no definite answer after
    ``timeout_s`` tries again, up to ``attempts`` times, with the same key.
    """

    presses: int = Field(default=1, ge=1, le=64)
    attempts: int = Field(default=5, ge=1, le=100)
    timeout_s: Seconds = 5.0
    pause_ms: Milliseconds = 50


class Kill(Section):
    """SIGKILL the instance whose provider call reaches ``at``; start it again after a while."""

    at: Seam
    operation: str = "charge.create"
    order: Serial | None = None
    nth: int = Field(default=1, ge=1)
    restart_after_ms: Milliseconds = 100
    name: str | None = None


class ScenarioFile(Section):
    """One named scenario. ``alone``: nobody else plays beside it, whatever it plans."""

    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    orders: int = Field(default=6, ge=1, le=1000)
    alone: bool = False
    customer: Customer = Customer()
    faults: tuple[dict[str, Any], ...] = ()
    kills: tuple[Kill, ...] = ()

    @model_validator(mode="after")
    def _something_is_planned(self) -> Self:
        for number, kill in enumerate(self.kills, start=1):
            if kill.at == "on_delivery":
                raise ValueError(f"kills[{number}].at: a call to the provider has no on_delivery")
        for number, table in enumerate(self.faults, start=1):
            serial = table.get("order")
            if serial is not None and not (isinstance(serial, int) and 1 <= serial <= self.orders):
                raise ValueError(
                    f"faults[{number}].order: expected a serial from 1 to {self.orders}, "
                    f"found {serial!r}"
                )
        return self


class Scenario:
    """A scenario file that has been read and checked, under its public name."""

    def __init__(self, name: str, path: Path, file: ScenarioFile) -> None:
        self.name = name
        self.path = path
        self.file = file

    @property
    def named(self) -> bool:
        """Whether it is found by its name, in the library."""
        return library().get(self.name) == self.path

    @property
    def fair(self) -> bool:
        """Whether the provider keeps its documented promises throughout."""
        return all(rule.fault.fair for rule in self.rules({}))

    @property
    def alone(self) -> bool:
        """Whether it needs the stage for itself: it says so, or what it plans strikes everybody."""
        return self.file.alone or bool(self.file.kills) or any(map(_strikes_all, self.rules({})))

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities of a service without which the plan cannot happen."""
        needs = set()
        if self.file.kills:
            needs.add("restartable")
        if any(rule.fault.needs_listener for rule in self.rules({})):
            needs.add("webhooks")
        return frozenset(needs)

    def rules(self, references: Mapping[int, str]) -> list[Rule]:
        """Return what goes wrong, with the orders' own references for their serials."""
        return rules_from([_referring(table, references) for table in self.file.faults])

    def kills(self) -> list[tuple[str, Kill]]:
        """Return the planned kills, each under the name it is reported by."""
        return [
            (kill.name or ("kill" if number == 1 else f"kill-{number}"), kill)
            for number, kill in enumerate(self.file.kills, start=1)
        ]

    def plan(self, references: Mapping[int, str]) -> list[dict[str, object]]:
        """Return the plan as data: every rule and kill under the name it is reported by."""
        return plan_of(self.rules(references), self.kills())

    def __repr__(self) -> str:
        fairness = "fair" if self.fair else "unfair"
        return f"<Scenario {self.name} {fairness}, {self.file.orders} orders>"


def plan_of(rules: Iterable[Rule], kills: Iterable[tuple[str, Kill]]) -> list[dict[str, object]]:
    """Return rules and kills as data, each under the name it is reported by."""
    deaths: list[dict[str, object]] = [
        {**kill.model_dump(exclude_defaults=True), "name": name, "kill": kill.at}
        for name, kill in kills
    ]
    return [*map(table_from, rules), *deaths]


def read_scenario_file(path: Path) -> Scenario:
    """Return the scenario at ``path``; raise ``FileError`` with one clear sentence if not."""
    data, text = read_toml(path)
    scenario = Scenario(path.stem, path, validated(ScenarioFile, data, text, path))
    try:
        scenario.rules({})
    except PlanError as error:
        found = _PLACE.fullmatch(error.field)
        assert found is not None
        number, field = int(found[1]), found[2]
        line = line_of(text, ("faults", number, field))
        raise FileError.at(path, line, field_name(("faults", number, field)), error.says) from None
    return scenario


def named_scenario(name: str) -> Scenario:
    """Return a scenario of the library; raise ``FileError`` if none has that name."""
    known = library()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise FileError(f"no scenario is called {name!r}; {hint}")
    return read_scenario_file(known[name])


def library() -> dict[str, Path]:
    """Return the named scenarios, those that the package carries, by public name."""
    inside = Path(__file__).parent / SCENARIOS
    folder = inside if inside.is_dir() else Path(__file__).parent.parent / SCENARIOS
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _strikes_all(rule: Rule) -> bool:
    """Tell whether a rule cannot be confined to some orders, or waits for all of them."""
    fault = rule.fault
    return fault.strikes_all or (isinstance(fault, Hold) and fault.until == "quiet")


def _referring(table: Mapping[str, Any], references: Mapping[int, str]) -> dict[str, Any]:
    """Put the order's reference in the place of its serial."""
    serial = table.get("order")
    return (
        dict(table) if serial is None else {**table, "order": references.get(serial, str(serial))}
    )
