"""Which scenarios share the stage. Most of a scenario is waiting, and they can wait together.

Rule 1: whoever kills, moves the clock or strikes everybody plays alone; so does a crowd.
Rule 2: scenarios share the stage only if every charge says which order it is for.
Rule 3: sharing may change how long it takes and nothing else. What is left open side by side, and
        whatever came too late there, is played again alone, and that counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from onecharge.history.records import Record
from onecharge.scenario_file import Scenario
from onecharge.steps import PressLate, Wait
from onecharge.verdict import ScenarioVerdict

AT_ONCE: Final = 6
"""So many keep two processors busy without making anybody late."""

_LATE_PRESS_MS: Final = 300
"""One order's part of a sweep: they follow one after the other."""

LIVENESS: Final = frozenset({"every_order_settles", "quiet_after_convergence"})
"""The invariants by which somebody may only have been late."""


def arranged(scenarios: Iterable[Scenario], *, tied: bool) -> Iterator[Sequence[Scenario]]:
    """Yield the scenarios that play together, and then those that play alone, each in its turn.

    ``tied`` says whether charges are known to name their orders.
    """
    alone: list[Scenario] = []
    together: list[Scenario] = []
    for scenario in scenarios:
        (together if tied and not scenario.alone else alone).append(scenario)
    together.sort(key=_takes_ms)  # so that those which take their time share it
    for first in range(0, len(together), AT_ONCE):
        yield together[first : first + AT_ONCE]
    yield from ((scenario,) for scenario in alone)


def _takes_ms(scenario: Scenario) -> int:
    """Estimate how long a scenario waits of its own accord, beside what all of them do."""
    file = scenario.file
    waits = sum(step.ms for step in file.steps if isinstance(step, Wait))
    late = sum(isinstance(step, PressLate) for step in file.steps)
    return waits + late * file.orders * _LATE_PRESS_MS + file.customer.pause_ms


def to_be_confirmed(verdict: ScenarioVerdict) -> bool:
    """Tell whether a verdict found side by side has to be found alone as well."""
    if verdict.verdict == "unknown":
        return True
    violated = {one.name for one in verdict.invariants if one.judgement.violations}
    return bool(violated) and violated <= LIVENESS


def money_of_nobody(records: Iterable[Record]) -> str | None:
    """Say what money moved while several were on and named the order of none.

    ``records`` are those that belong to no scenario's history.
    """
    taken = {r.value["charge"] for r in records if r.what == "charge.captured"}
    if not taken:
        return None
    return f"{len(taken)} real charge(s) made side by side name no order: {', '.join(taken)}"
