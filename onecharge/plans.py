"""A plan: what customers do and what goes wrong around them, complete before anything runs.

Rule 1: a plan is data. It can be compared, kept, printed and played again; nothing in it is
        decided while it runs.
Rule 2: it is small: a few orders, at most a few strikes, one kill. What needs more to show is
        a scenario somebody wrote.
Rule 3: a plan is played as the scenario it reads as, so that ``onecharge run FILE`` repeats it.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import tomli_w

from onecharge.scenario_file import SEAMS, Customer, Kill, Scenario, ScenarioFile
from simulator.catalogue import table_from
from simulator.core.faults import Fault
from simulator.core.messages import Seam
from simulator.core.rules import Rule

NAME = "drawn"


class _Brief:
    """Shows only what is not the default, as the call that makes it again."""

    __slots__ = ()

    def __repr__(self) -> str:
        said = [
            f"{field.name}={value!r}"
            for field in fields(self)  # type: ignore[arg-type]  # its subclasses are dataclasses
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(said)})"


@dataclass(frozen=True, slots=True, repr=False)
class Strike(_Brief):
    """One fault and where it strikes: up to ``times`` times, or at the ``nth`` chance only.

    ``order`` is a serial, from 1; None is any order.
    """

    fault: Fault
    operation: str
    order: int | None = None
    nth: int | None = None
    times: int = 1

    def table(self) -> dict[str, Any]:
        """Return the table of a scenario file that says the same."""
        rule = Rule(self.fault, "", self.operation, None, self.nth, self.times)
        table = {key: value for key, value in table_from(rule).items() if key != "name"}
        return table if self.order is None else {**table, "order": self.order}


@dataclass(frozen=True, slots=True, repr=False)
class Death(_Brief):
    """One process of the service is killed while the provider has its call at a seam."""

    at: Seam
    order: int | None = None
    nth: int = 1
    restart_after_ms: int = 0

    def kill(self) -> Kill:
        """Return the kill of a scenario file that says the same."""
        [point] = [point for point, seam in SEAMS.items() if seam == self.at]
        return Kill(
            at=point, order=self.order, nth=self.nth, restart_after_ms=self.restart_after_ms
        )


@dataclass(frozen=True, slots=True, repr=False)
class Plan(_Brief):
    """Some orders, how their customers press *Pay*, and what goes wrong meanwhile."""

    orders: int = 1
    presses: int = 1
    attempts: int = 3
    timeout_ms: int = 2_000
    pause_ms: int = 20
    strikes: tuple[Strike, ...] = ()
    death: Death | None = None

    @property
    def kinds(self) -> list[str]:
        """What goes wrong, by the faults' public names; a death is a ``kill``."""
        return [strike.fault.name for strike in self.strikes] + ["kill"] * (self.death is not None)


def as_scenario(plan: Plan, name: str = NAME) -> Scenario:
    """Return the plan as a scenario to be played. Its name and the seed decide all ids."""
    return Scenario(name, Path(f"{name}.toml"), _file_of(plan))


def as_toml(plan: Plan) -> str:
    """Return the plan as the text of a scenario file; what it does not say is the default."""
    return tomli_w.dumps(_file_of(plan).model_dump(exclude_defaults=True))


def _file_of(plan: Plan) -> ScenarioFile:
    return ScenarioFile(
        title=f"A drawn plan: {', '.join(plan.kinds) or 'nothing goes wrong'}",
        why="Nobody chose it. It was drawn, and is kept because of what it showed.",
        orders=plan.orders,
        customer=Customer(
            presses=plan.presses,
            attempts=plan.attempts,
            timeout_s=plan.timeout_ms / 1000,
            pause_ms=plan.pause_ms,
        ),
        faults=tuple(strike.table() for strike in plan.strikes),
        kills=() if plan.death is None else (plan.death.kill(),),
    )
