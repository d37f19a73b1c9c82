"""The mutants on show are caught by the invariants that their files name, again on repeat."""

import shlex
from typing import TYPE_CHECKING

import pytest

from onecharge.invariants import invariants
from onecharge.targets import mutants

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .conftest import OneCharge

SHOWN_BY = {
    "one_charge_per_key": ("lost_replies", "parallel_same_key"),
    "one_effect_per_event": ("duplicate_events_one_by_one",),
    "answers_tell_the_truth": ("replies_cut_short",),
    "every_order_settles": ("replies_never_come",),
}
"""The scenarios in which a breach of an invariant shows; a new mutant is shown at once."""

ON_SHOW = (
    "no_client_key_guard",
    "upstream_key_per_attempt",
    "no_event_dedupe",
    "unknown_recorded_as_failed",
    "call_inside_transaction_rolled_back",
)
"""Those with a scenario of the library that shows them. Of all the others ``tests/service`` shows
that they make their mistake."""

SEEDS = (1, 2, 3)


def words_for(scenarios: "Iterable[str]") -> list[str]:
    return [word for name in scenarios for word in ("--scenario", name)]


def test_for_every_invariant_that_a_mutant_on_show_breaks_there_is_a_scenario() -> None:
    assert {invariant.name for invariant in invariants()} >= SHOWN_BY.keys()
    assert SHOWN_BY.keys() >= {mutants()[name].violates for name in ON_SHOW}


@pytest.mark.parametrize("name", ON_SHOW)
def test_a_mutant_is_caught_by_the_invariant_it_names_and_again_on_repeat(
    name: str, onecharge: "OneCharge"
) -> None:
    violates = mutants()[name].violates
    scenarios = words_for(SHOWN_BY[violates])

    seen = onecharge(["verify", "--mutant", name, *scenarios])

    assert (seen.exit_code, seen.verdict["verdict"]) == (1, "violated"), seen.said
    assert violates in seen.violations, seen.said
    command, *words = shlex.split(seen.violations[violates][0]["repeat"])
    assert command == "onecharge"

    again = onecharge(words)

    assert (again.exit_code, again.verdict["verdict"]) == (1, "violated"), again.said
    assert violates in again.violations, again.said


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_holds_where_its_mutants_do_not(seed: int, onecharge: "OneCharge") -> None:
    violated = {mutants()[name].violates for name in ON_SHOW}
    every = sorted({name for invariant in violated for name in SHOWN_BY[invariant]})

    seen = onecharge(["verify", *words_for(every), "--seed", str(seed)])

    assert (seen.exit_code, seen.verdict["verdict"]) == (0, "holds"), seen.said
    assert [scenario["name"] for scenario in seen.verdict["scenarios"]] == every
    assert seen.violations == {}
