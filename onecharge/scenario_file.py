"""A scenario file: what customers do, what goes wrong, and who is killed. Data only.

Rule 1: a scenario is fair when all its faults are; no file can say otherwise.
Rule 2: orders are named by their serial, from 1; ids, keys and amounts follow from the seed.
Rule 3: everything that a file plans must happen, or its verdict is *unknown*.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from onecharge.toml_file import FileError, Section, line_of, read_toml, validated
from simulator.catalogue import PlanError, rule_from
from simulator.core.messages import Seam
from simulator.core.rules import Rule

SCENARIOS = "scenarios"

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
    """One named scenario."""

    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    orders: int = Field(default=6, ge=1, le=1000)
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

    def __init__(
        self, name: str, path: Path, file: ScenarioFile, faults: list[dict[str, Any]]
    ) -> None:
        self.name = name
        self.path = path
        self.file = file
        self._faults = faults

    @property
    def named(self) -> bool:
        """Whether it is found by its name, in the library."""
        return library().get(self.name) == self.path

    def __repr__(self) -> str:
        fairness = "fair" if self.fair else "unfair"
        return f"<Scenario {self.name} {fairness}, {self.file.orders} orders>"

    @property
    def fair(self) -> bool:
        """Whether the provider keeps its documented promises throughout."""
        return all(rule.fault.fair for rule in self.rules({}))

    def rules(self, references: Mapping[int, str]) -> list[Rule]:
        """Return what goes wrong, with the orders' own references for their serials."""
        return [rule_from(table) for table in self._tables(references)]

    def plan(self, references: Mapping[int, str]) -> list[dict[str, Any]]:
        """Return the plan as data: every rule and kill under the name it is reported by."""
        kills = [
            {"name": name, "kill": kill.at, **kill.model_dump(exclude_none=True, exclude={"name"})}
            for name, kill in self.kills()
        ]
        return [*self._tables(references), *kills]

    def kills(self) -> list[tuple[str, Kill]]:
        """Return the planned kills, each under the name it is reported by."""
        return [
            (kill.name or _numbered("kill", number), kill)
            for number, kill in enumerate(self.file.kills, start=1)
        ]

    def _tables(self, references: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for table in self._faults:
            serial = table.get("order")
            yield (
                table if serial is None else {**table, "order": references.get(serial, str(serial))}
            )


def read_scenario_file(path: Path) -> Scenario:
    """Return the scenario at ``path``; raise ``FileError`` with one clear sentence if not."""
    data, text = read_toml(path)
    file = validated(ScenarioFile, data, text, path)
    faults = _named(file.faults)
    for number, table in enumerate(faults):
        serial = table.get("order")
        try:
            rule_from({**table, "order": str(serial)} if serial is not None else table)
        except PlanError as error:
            line = line_of(text, ("faults", number, error.field))
            raise FileError.at(
                path, line, f"faults[{number + 1}].{error.field}", error.says
            ) from None
    return Scenario(path.stem, path, file, faults)


def library() -> dict[str, Path]:
    """Return the named scenarios: those carried by the package, by public name."""
    inside = Path(__file__).parent / SCENARIOS
    folder = inside if inside.is_dir() else Path(__file__).parent.parent / SCENARIOS
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _named(tables: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Give every rule a name of its own: the fault's, numbered where it repeats."""
    seen: dict[str, int] = {}
    named = []
    for table in tables:
        fault = str(table.get("fault", "rule"))
        seen[fault] = seen.get(fault, 0) + 1
        named.append({"name": _numbered(fault, seen[fault]), **table})
    return named


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
