"""A row written as a scenario: an ordinary one, that a file can hold and ``onecharge run`` plays.

Rule 1: whatever strikes is tied to the subject, so that rows can stand side by side.
Rule 2: what goes wrong with a second call is asked first: else it would not have seen the first.
Rule 3: nothing is in the scenario that its text does not say.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import tomli_w

from onecharge.combinations.rows import Place, Row, Space
from onecharge.combinations.values import Value
from onecharge.scenario_file import Customer, Kill, Scenario, ScenarioFile
from onecharge.steps import ONLY_PAY, Act, CrashDatabase, PressAgain, Refund, Step, Wait

_CRASH_AFTER_MS: Final = 150
_ATTEMPTS: Final = 6
"""So often a customer presses until healing takes over: also while a process starts again."""

_PAUSE_MS: Final = 100

_WHY: Final = (
    "Nobody chose it: every such combination was tried, and it is kept for what it showed."
)


def scenario_of(space: Space, row: Row, name: str) -> Scenario:
    """Return the row as a scenario of that name; the name and the seed decide all ids."""
    return Scenario(name, Path(f"{name}.toml"), _file_of(space.values(row)))


def planned(space: Space, row: Row, scenario: Scenario) -> dict[Place, frozenset[str]]:
    """Return the names under which each value of a row is reported, once it came about."""
    rules = iter(scenario.rules({}))
    names: dict[Place, set[str]] = {place: set() for place in row.places}
    for place in sorted(row.places, key=lambda place: not space.value(place).upon):
        value = space.value(place)
        names[place] |= {next(rules).name for _ in value.faults}
        if value.kill is not None:
            names[place] |= {name for name, _ in scenario.kills()}
        acts = {step.do for step in (*value.steps, value.crash) if isinstance(step, Act)}
        names[place] |= {n for n in scenario.acts().values() if n.partition("-")[0] in acts}
    return {place: frozenset(each) for place, each in names.items()}


def as_toml(scenario: Scenario) -> str:
    """Return a scenario as the text of its file; what it does not say is the default."""
    return tomli_w.dumps(scenario.file.model_dump(exclude_defaults=True))


def _file_of(values: Sequence[Value]) -> ScenarioFile:
    subject = max((value.subject for value in values), default=1)
    at_once = max((value.at_once for value in values), default=1)
    said = ", ".join(value.name for value in values) or "nothing goes wrong"
    faults = [
        {**table, "order": subject}
        for value in sorted(values, key=lambda value: not value.upon)
        for table in value.faults
    ]
    return ScenarioFile(
        title=said,
        why=_WHY,
        claimed=tuple(dict.fromkeys(claim for value in values for claim in value.claimed)),
        orders=max((value.orders for value in values), default=1),
        customer=Customer(presses=at_once, attempts=_ATTEMPTS, pause_ms=_PAUSE_MS),
        faults=tuple(faults),
        steps=_steps_of(values, at_once),
        kills=tuple(_of(subject, value.kill) for value in values if value.kill is not None),
    )


def _of(subject: int, kill: Kill) -> Kill:
    return kill.model_copy(update={"order": subject})


def _steps_of(values: Iterable[Value], at_once: int) -> tuple[Step, ...]:
    [steps] = [value.steps for value in values if value.steps] or [ONLY_PAY]
    pressed = tuple(_at_once(step, at_once) for step in steps)
    for value in values:
        if value.crash is not None:
            return _with_a_crash(pressed, value.crash, meanwhile=value.meanwhile)
    return pressed


def _with_a_crash(
    steps: tuple[Step, ...], crash: CrashDatabase, *, meanwhile: bool
) -> tuple[Step, ...]:
    """Crash the database before the first press, or a while after it has begun."""
    wait = Wait(do="wait", ms=_CRASH_AFTER_MS)
    if not meanwhile:
        return (crash, wait, *steps)
    first, *others = steps
    if "meanwhile" in type(first).model_fields:  # else it is over at once
        first = first.model_copy(update={"meanwhile": True})
    return (first, wait, crash, *others)


def _at_once(step: Step, at_once: int) -> Step:
    """Have a step's presses made so many at once, if it is one that can be."""
    if isinstance(step, PressAgain | Refund) and at_once > step.at_once:
        changed: dict[str, Any] = {"at_once": at_once}
        return step.model_copy(update=changed)
    return step
