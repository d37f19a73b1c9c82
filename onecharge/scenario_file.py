"""A scenario file: what customers do, what goes wrong, who is killed, what is done. Data only.

Rule 1: a scenario is fair when all its faults are; no file can say otherwise.
Rule 2: orders are named by their serial, from 1; ids, keys and amounts follow from the seed.
Rule 3: everything that a file plans must happen, or its verdict is *unknown*.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from onecharge.history.case import Claim
from onecharge.invariants import invariants
from onecharge.steps import ONLY_PAY, Act, EdgeKeys, Milliseconds, Seconds, Serial, Step
from onecharge.toml_file import (
    FileError,
    Location,
    Misplaced,
    Section,
    field_name,
    line_of,
    read_toml,
    validated,
)
from simulator.catalogue import PlanError, rules_from, table_from
from simulator.core.messages import Seam
from simulator.core.rules import Rule
from simulator.faults.hold import Hold

SCENARIOS = "scenarios"

_PLACE = re.compile(r"rules\[(\d+)\]\.(.+)")

Point = Literal[
    "request_received",
    "call_sent",
    "key_claimed",
    "committed",
    "answered",
    "event_acknowledged",
]
"""Where a process dies, in the order in which a charge passes: when a customer's request has just
left for it, when the provider has its call, has claimed its key, has charged, when it has answered
its customer, and when it has acknowledged an event."""

SEAMS: Final[Mapping[Point, Seam]] = {
    "call_sent": "on_receive",
    "key_claimed": "before_commit",
    "committed": "after_commit",
}
"""The points at which a call to the provider stands still, so that they are met exactly."""

BEYOND_LEASE_MS: Final = 500
"""For how long a lease has run out when what outlasts it goes on."""

BugClass = Annotated[str, Field(pattern=r"^K(0[1-9]|[12]\d|3[0-5])$")]


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
    """SIGKILL the process that comes to the point ``at``; start it again after a while.

    ``nth`` counts those who come there. A request is received ``after_ms`` after it left. Who has
    acknowledged an event is not told: then every process dies. ``operation`` is of provider calls.
    """

    at: Point
    operation: str = "charge.create"
    after_ms: Milliseconds = 2
    order: Serial | None = None
    nth: int = Field(default=1, ge=1)
    restart_after_ms: Milliseconds = 100
    name: str | None = None


class ScenarioFile(Section):
    """One named scenario.

    ``claimed``: it asks for what a service is held to only if it claims it; then findings count,
    though the provider may break its word. ``alone``: nobody
    else plays beside it, whatever it plans. ``outlasts_lease``: what is held for a while is held
    until the service's lease, where it declares a longer one, has run out.
    """

    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    classes: tuple[BugClass, ...] = ()
    exercises: tuple[str, ...] = ()
    claimed: tuple[Claim, ...] = ()
    orders: int = Field(default=6, ge=1, le=1000)
    alone: bool = False
    outlasts_lease: bool = False
    customer: Customer = Customer()
    faults: tuple[dict[str, Any], ...] = ()
    steps: tuple[Step, ...] = ONLY_PAY
    kills: tuple[Kill, ...] = ()

    @model_validator(mode="after")
    def _names_only_what_there_is(self) -> Self:
        for place, table in enumerate(self.faults):
            self._check_serials(("faults", place, "order"), table.get("order"))
            self._check_serials(("faults", place, "orders"), *table.get("orders", ()))
        for place, step in enumerate(self.steps):
            self._check_serials(("steps", place, "orders"), *getattr(step, "orders", ()))
            if isinstance(step, EdgeKeys) and step.takes > self.orders:
                says = f"so many keys take {step.takes} orders, and there are {self.orders}"
                raise Misplaced(("steps", place, "do"), says)
        for place, kill in enumerate(self.kills):
            self._check_serials(("kills", place, "order"), kill.order)
        known = [invariant.name for invariant in invariants()]
        for place, name in enumerate(self.exercises):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise Misplaced(("exercises", place), f"no invariant is called {name!r}; {hint}")
        return self

    def _check_serials(self, place: Location, *serials: object) -> None:
        for serial in serials:
            if serial is not None and not (isinstance(serial, int) and 1 <= serial <= self.orders):
                says = f"expected a serial from 1 to {self.orders}, found {serial!r}"
                raise Misplaced(place, says)


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
        return (
            self.file.alone
            or bool(self.file.kills)
            or any(step.alone for step in self.file.steps)
            or any(map(_strikes_all, self.rules({})))
        )

    @property
    def needs(self) -> frozenset[str]:
        """The capabilities and claims of a service without which the plan cannot happen."""
        needs: set[str] = {need for step in self.file.steps for need in step.needs}
        needs.update(self.file.claimed)
        if self.file.kills:
            needs.add("restartable")
        for rule in self.rules({}):
            needs |= rule.fault.needs
        return frozenset(needs)

    def rules(self, references: Mapping[int, str], *, lease_s: float | None = None) -> list[Rule]:
        """Return what goes wrong, with the orders' own references for their serials.

        ``lease_s`` is that of the service, which only matters to who is to outlast it.
        """
        rules = rules_from([_referring(table, references) for table in self.file.faults])
        if lease_s is None or not self.file.outlasts_lease:
            return rules
        return [_held_for(rule, round(1000 * lease_s) + BEYOND_LEASE_MS) for rule in rules]

    def kills(self) -> list[tuple[str, Kill]]:
        """Return the planned kills, each under the name it is reported by."""
        return [
            (kill.name or ("kill" if number == 1 else f"kill-{number}"), kill)
            for number, kill in enumerate(self.file.kills, start=1)
        ]

    def acts(self) -> dict[int, str]:
        """Return the steps that are no customer's, by their place, with the name of each."""
        names: dict[int, str] = {}
        for place, step in enumerate(self.file.steps):
            if isinstance(step, Act):
                count = 1 + sum(name.partition("-")[0] == step.do for name in names.values())
                names[place] = step.do if count == 1 else f"{step.do}-{count}"
        return names

    def plan(self, references: Mapping[int, str]) -> list[dict[str, object]]:
        """Return the plan as data: rules, kills and acts under the names they are reported by."""
        return self.plan_with(self.rules(references))

    def plan_with(self, rules: Iterable[Rule]) -> list[dict[str, object]]:
        """Return the plan as data, with these rules for its own."""
        deaths: list[dict[str, object]] = [
            {**kill.model_dump(exclude_defaults=True), "name": name, "kill": kill.at}
            for name, kill in self.kills()
        ]
        acts: list[dict[str, object]] = [
            {**self.file.steps[place].model_dump(exclude_defaults=True), "name": name}
            for place, name in self.acts().items()
        ]
        return [*map(table_from, rules), *deaths, *acts]

    def __repr__(self) -> str:
        fairness = "fair" if self.fair else "unfair"
        return f"<Scenario {self.name} {fairness}, {self.file.orders} orders>"


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


def _held_for(rule: Rule, at_least_ms: int) -> Rule:
    """Return a rule that, if it holds for a while, does so for so long at least."""
    match rule.fault:
        case Hold(until="elapsed", amount=amount) as hold if amount < at_least_ms:
            return replace(rule, fault=replace(hold, amount=at_least_ms))
        case _:
            return rule


def _strikes_all(rule: Rule) -> bool:
    """Tell whether a rule cannot be confined to some orders, or waits for all of them."""
    fault = rule.fault
    return fault.strikes_all or (isinstance(fault, Hold) and fault.until == "quiet")


def _referring(table: Mapping[str, Any], references: Mapping[int, str]) -> dict[str, Any]:
    """Put the orders' references in the place of their serials."""
    written = dict(table)
    if (serial := table.get("order")) is not None:
        written["order"] = references.get(serial, str(serial))
    if serials := table.get("orders"):
        written["orders"] = [references.get(each, str(each)) for each in serials]
    return written
