"""Every mutant on show is caught by the invariant, in the scenario, that its file names."""

import shlex
from typing import TYPE_CHECKING

import pytest

from onecharge.engine.retold import MOST_STEPS
from onecharge.invariants import invariants
from onecharge.scenario_file import library
from onecharge.targets import mutants

if TYPE_CHECKING:
    from .conftest import OneCharge

pytestmark = [pytest.mark.museum, pytest.mark.timeout(300)]

REPEATED = (
    "no_client_key_guard",
    "upstream_key_per_attempt",
    "no_event_dedupe",
    "unknown_recorded_as_failed",
    "call_inside_transaction_rolled_back",
)
"""One for each place where a guard can be missing; of these the repeat command is run as well."""


ON_SHOW = [mutant.name for mutant in mutants().values() if mutant.shown_by]
"""The others make a mistake that no scenario reaches every time; ``tests/service`` shows it."""


FIRST = {mutants()[name].violates: name for name in (*reversed(ON_SHOW), *REPEATED)}
"""One mutant for each invariant; with ``REPEATED`` they are what CI has time for."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=() if name in {*REPEATED, *FIRST.values()} else pytest.mark.whole_museum,
        )
        for name in ON_SHOW
    ],
)
def test_a_mutant_is_caught_by_the_invariant_it_names(name: str, onecharge: "OneCharge") -> None:
    mutant = mutants()[name]

    assert mutant.shown_by is not None
    seen = onecharge(["verify", "--mutant", name, "--scenario", mutant.shown_by])

    assert (seen.exit_code, seen.verdict["verdict"]) == (1, "violated"), seen.said
    assert mutant.violates in seen.violations, seen.said
    if name in REPEATED:
        command, *words = shlex.split(seen.violations[mutant.violates][0]["repeat"])
        assert command == "onecharge"

        again = onecharge(words)

        assert (again.exit_code, again.verdict["verdict"]) == (1, "violated"), again.said
        assert mutant.violates in again.violations, again.said


def test_every_invariant_kills_a_mutant_on_show() -> None:
    assert {mutants()[name].violates for name in ON_SHOW} == {each.name for each in invariants()}


def test_every_mutant_is_shown_by_a_scenario_of_the_library() -> None:
    assert {mutants()[name].shown_by for name in ON_SHOW} <= library().keys()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("server_error_recorded_as_failed", id="what the provider answers"),
        pytest.param(
            "claim_cleared_before_the_result", id="a race", marks=pytest.mark.whole_museum
        ),
        pytest.param(
            "reconciler_with_its_own_key", id="nobody presses", marks=pytest.mark.whole_museum
        ),
        pytest.param("credit_after_the_latest_row", id="a crowd", marks=pytest.mark.whole_museum),
        pytest.param(
            "lease_that_never_ends", id="what never settles", marks=pytest.mark.whole_museum
        ),
        pytest.param("failure_is_for_ever", id="what is claimed", marks=pytest.mark.whole_museum),
        pytest.param("unsigned_is_believed", id="strangers", marks=pytest.mark.whole_museum),
    ],
)
def test_a_mutant_is_explored_and_told_in_at_most_eight_steps(
    name: str, onecharge: "OneCharge"
) -> None:
    seen = onecharge(["explore", "--mutant", name, "--budget", "40"])

    assert seen.exit_code == 1, seen.said
    assert mutants()[name].violates in seen.violations, seen.said
    [found] = [part["found"] for part in seen.verdict["explored"] if part["found"]]
    assert 0 < len(found["steps"]) <= MOST_STEPS
    assert found["failed"] > 0
    assert not [step for step in found["steps"] if step.startswith("and so on")]
    assert found["scenario"] in [scenario["name"] for scenario in seen.verdict["scenarios"]]
