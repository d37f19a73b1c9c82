"""Each pattern of a witness told by a tale: what is seen, the likely cause, where it parted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onecharge.explaining.causes import PATTERNS
from onecharge.explaining.explanation import Explanation, divergence, explained
from onecharge.history.assembly import case_of
from onecharge.history.judgement import API_TO_PROVIDER, CLIENT_TO_API
from onecharge.history.outcomes import LEFT
from onecharge.history.reading import read_history
from onecharge.invariants import invariants
from tests.judge.conftest import Tale

ORDER = "ord-1"
HISTORIES = Path(__file__).parent / "histories"
INVARIANTS = {invariant.name: invariant for invariant in invariants()}


def explain(tale: Tale, invariant: str, **more: Any) -> Explanation:
    """Explain the first violation that an invariant finds in a tale."""
    case = tale.case()
    (violation, *_) = INVARIANTS[invariant].judge(case).violations
    return explained(case, invariant, violation, records=tale.records, **more)


def charge(tale: Tale, key: str) -> str:
    """Have the provider charge, and say so."""
    call = tale.calls(ORDER, key)
    made = tale.captures(call)
    tale.replies(call, charge=made)
    return made


def a_delivery_charges(tale: Tale) -> None:
    event = tale.event(tale.pays(ORDER))
    attempt = tale.delivers(event)
    charge(tale, "up-2")
    tale.answered(attempt, status=200)


def one_key_twice(tale: Tale) -> None:
    tale.pays(ORDER, "up-1")
    asked = tale.asks(ORDER)
    charge(tale, "up-1")
    tale.told(asked)


def killed_in_between(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    charge(tale, "up-1")
    tale.kills()
    tale.told(asked, "unknown", error="reset")
    tale.asks(ORDER)
    charge(tale, "up-2")


def restarted_after_the_answer(tale: Tale) -> None:
    tale.pays(ORDER, "up-1")
    tale.kills()
    tale.pays(ORDER, "up-2")


def another_process_goes_on(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    held = tale.calls(ORDER, "up-1", source="service-1")
    other = tale.calls(ORDER, "up-2", source="service-2")
    for call in (other, held):
        tale.replies(call, charge=tale.captures(call))
    tale.told(asked)


def tries_again_without_an_answer(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    call = tale.calls(ORDER, "up-1")
    tale.captures(call)
    tale.drops(call)
    charge(tale, "up-2")
    tale.told(asked)


def does_all_of_it_again(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    charge(tale, "up-1")
    charge(tale, "up-2")
    tale.told(asked)


def hangs_up_and_presses_again(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    call = tale.calls(ORDER, "up-1")
    tale.captures(call)
    tale.told(asked, "unknown", error=LEFT)
    tale.drops(call)
    again = tale.asks(ORDER)
    charge(tale, "up-2")
    tale.told(again)


def claims_again_without_knowing(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    call = tale.calls(ORDER, "up-1")
    tale.captures(call)
    tale.drops(call, "timeout")
    tale.told(asked, "unknown", status=504)
    again = tale.asks(ORDER)
    charge(tale, "up-2")
    tale.told(again)


def two_at_once(tale: Tale) -> None:
    both = [tale.asks(ORDER, instance=f"http://service-{number}") for number in (1, 2)]
    calls = [tale.calls(ORDER, f"up-{number}") for number in (1, 2)]
    for call, asked in zip(calls, both, strict=True):
        tale.replies(call, charge=tale.captures(call))
        tale.told(asked)


def comes_when_the_claim_has_gone(tale: Tale) -> None:
    first = tale.asks(ORDER)
    charge(tale, "up-1")
    second = tale.asks(ORDER)
    charge(tale, "up-2")
    tale.told(second)
    tale.told(first)


def looks_and_acts_late(tale: Tale) -> None:
    first, second = tale.asks(ORDER), tale.asks(ORDER)
    charge(tale, "up-2")
    tale.told(second)
    charge(tale, "up-1")
    tale.told(first)


def pays_and_pays_again(tale: Tale) -> None:
    tale.pays(ORDER, "up-1")
    tale.pays(ORDER, "up-2")


def books(tale: Tale, effects: int) -> None:
    tale.settles()
    tale.believes(ORDER, effects=effects, effects_minor=effects * tale.amounts[ORDER])


def two_copies_at_once(tale: Tale) -> None:
    event = tale.event(tale.pays(ORDER))
    for attempt in [tale.delivers(event), tale.delivers(event)]:
        tale.answered(attempt, status=200)
    books(tale, 2)


def two_copies_in_turn(tale: Tale) -> None:
    tale.hears(tale.pays(ORDER), times=2)
    books(tale, 2)


def booked_by_both(tale: Tale) -> None:
    tale.hears(tale.pays(ORDER))
    books(tale, 2)


def acknowledged_and_not_booked(tale: Tale) -> None:
    tale.hears(tale.pays(ORDER))
    books(tale, 0)


def never_comes_back(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    tale.calls(ORDER, "up-1")
    tale.kills()
    tale.told(asked, "unknown", error="reset")
    tale.phase("heal")
    tale.judge("unknown", "converged", after_s=20.0, bound_s=5.0, missing=["ord-1"])
    tale.phase("quiet", "read")
    tale.believes(ORDER, "pending")


def says_failed_without_knowing(tale: Tale) -> None:
    asked = tale.asks(ORDER)
    call = tale.calls(ORDER, "up-1")
    tale.captures(call)
    tale.drops(call)
    tale.told(asked, "declined")
    tale.settles()
    tale.believes(ORDER, "failed")


CUT = ("client:1 POST /pay #1", "client:1 COMMIT #1", "client:1 COMMIT #1: cut after")

TALES: dict[str, tuple[Callable[[Tale], None], dict[str, Any]]] = {
    "charged_by_a_delivery": (a_delivery_charges, {}),
    "forgotten_by_the_provider": (one_key_twice, {}),
    "forgotten_with_its_process": (restarted_after_the_answer, {}),
    "overtaken": (another_process_goes_on, {}),
    "killed_in_between": (killed_in_between, {}),
    "commit_tried_again": (does_all_of_it_again, {"course": CUT}),
    "tried_again_without_knowing": (tries_again_without_an_answer, {}),
    "all_of_it_again": (does_all_of_it_again, {}),
    "hung_up": (hangs_up_and_presses_again, {}),
    "released_without_knowing": (claims_again_without_knowing, {}),
    "taken_over": (two_at_once, {"lease_s": 0.001}),
    "looked_then_claimed": (two_at_once, {"lease_s": 1.0}),
    "claim_gone_before_the_result": (comes_when_the_claim_has_gone, {}),
    "acted_on_an_old_look": (looks_and_acts_late, {}),
    "result_not_bound": (pays_and_pays_again, {}),
    "event_looked_for_then_inserted": (two_copies_at_once, {}),
    "event_not_remembered": (two_copies_in_turn, {}),
    "booked_by_both_paths": (booked_by_both, {}),
    "acknowledged_before_booked": (acknowledged_and_not_booked, {}),
    "claim_left_behind": (never_comes_back, {}),
    "unknown_taken_for_failed": (says_failed_without_knowing, {}),
}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_what_was_seen_tells_the_likely_cause(pattern: Any, tell: type[Tale]) -> None:
    tale = tell(ORDER)
    happens, more = TALES[pattern.name]
    happens(tale)

    why = explain(tale, pattern.of, **more)

    assert why.pattern == pattern.name
    assert (why.likely, why.guard) == (pattern.likely, pattern.guard)
    assert "#" in why.argument.however[-1]  # it names records


def test_an_argument_is_told_line_by_line(tell: type[Tale]) -> None:
    tale = tell(ORDER)
    comes_when_the_claim_has_gone(tale)
    went = ("client:1 POST /pay #1", "client:1 DELETE claims #1", "client:2 POST /pay #1")
    passed = (*went[:2], "client:1 INSERT results #1")

    why = explain(tale, "one_charge_per_key", course=went, passing=[went[:1], passed, went])

    told = why.lines()
    assert told[:4] == [
        "let      ord-1, an order of 5.00 EUR, asked for 2 times, always under the key key-ord-1",
        "then     No idempotency key of a client and no order ever has more than one real charge.",
        "however  #3 provider: captured ch_1, 5.00 EUR, under provider key up-1",
        "however  #7 provider: captured ch_2, 5.00 EUR, under provider key up-2",
    ]
    assert told[4] == f"however  {why.argument.however[-1]}"
    assert told[5:] == [
        "so       ord-1 was charged 2 times: ch_1 (5.00 EUR), ch_2 (5.00 EUR)",
        f"differs  {why.divergence}",
        "open     client → API",
        f"cause    likely: {why.likely}",
        "guard    turn the claim into the result in one step, and never clear it",
    ]


def test_two_requests_that_went_to_two_instances_are_said_to(tell: type[Tale]) -> None:
    tale = tell(ORDER)
    two_at_once(tale)

    assert (
        explain(tale, "one_charge_per_key")
        .argument.however[-1]
        .endswith("; they went to 2 instances")
    )


def test_what_no_pattern_fits_is_told_by_the_invariant(tell: type[Tale]) -> None:
    tale = tell(ORDER)
    tale.pays(ORDER)
    tale.settles()
    tale.believes(ORDER, effects=1, effects_minor=1)

    why = explain(tale, "one_effect_per_event")

    assert why.pattern is None
    assert why.likely == "the right number of credits with a wrong amount"
    assert why.divergence is None


def test_a_call_that_was_made_first_and_done_last_opens_the_same_boundary(
    tell: type[Tale],
) -> None:
    tale = tell(ORDER)
    first = tale.asks(ORDER)
    held = tale.calls(ORDER, "up-1")
    second = tale.asks(ORDER)
    charge(tale, "up-2")
    tale.told(second)
    tale.replies(held, charge=tale.captures(held))
    tale.told(first)

    assert explain(tale, "one_charge_per_key").boundary == CLIENT_TO_API


def test_a_retry_of_the_services_own_opens_the_boundary_to_the_provider(
    tell: type[Tale],
) -> None:
    tale = tell(ORDER)
    tries_again_without_an_answer(tale)

    assert explain(tale, "one_charge_per_key").boundary == API_TO_PROVIDER


@pytest.mark.parametrize(
    "course, passing, after, went, passed",
    [
        ("ab", "c", "from the first step", "“a”", "“c”"),
        ("ab", "a", "after 1 step alike", "“b”", "nothing more"),
        ("a", "ab", "after 1 step alike", "nothing more", "“b”"),
        ("abc", "abd", "after 2 steps alike", "“c”", "“d”"),
    ],
)
def test_where_a_course_parted_is_said(
    course: str, passing: str, after: str, went: str, passed: str
) -> None:
    """A letter is a step."""
    said = str(divergence(course, ["xyz", passing]))

    assert said == f"{after}, this run went on with {went}, and one that passed with {passed}"


def test_with_nothing_to_compare_nothing_is_said() -> None:
    assert divergence(("a",), [("a",)]) is None
    assert divergence((), [("a",)]) is None


RECORDED = {
    "claim_cleared_before_the_result": ("one_charge_per_key", "claim_gone_before_the_result"),
    "claim_released_on_timeout": ("one_charge_per_key", "released_without_knowing"),
    "event_gate_before_the_transaction": (
        "one_effect_per_event",
        "event_looked_for_then_inserted",
    ),
    "hanging_up_undoes_the_claim": ("one_charge_per_key", "hung_up"),
    "keys_in_process_memory": ("one_charge_per_key", "forgotten_with_its_process"),
    "live_owner_overtaken": ("one_charge_per_key", "overtaken"),
    "no_client_key_guard": ("one_charge_per_key", "looked_then_claimed"),
    "no_event_dedupe": ("one_effect_per_event", "event_not_remembered"),
    "unknown_recorded_as_failed": ("answers_tell_the_truth", "unknown_taken_for_failed"),
    "upstream_key_per_attempt": ("one_charge_per_key", "tried_again_without_knowing"),
}
"""Mutants whose histories were recorded, one order of each: which claim, and which pattern."""


@pytest.mark.parametrize("mutant", sorted(RECORDED))
def test_the_history_of_a_mutant_tells_which_guard_is_broken(mutant: str) -> None:
    invariant, pattern = RECORDED[mutant]
    records = read_history(HISTORIES / f"{mutant}.jsonl")
    case = case_of(records)
    (violation,) = INVARIANTS[invariant].judge(case).violations

    assert explained(case, invariant, violation, records=records).pattern == pattern


def test_every_recorded_history_is_read() -> None:
    assert {path.stem for path in HISTORIES.iterdir()} == RECORDED.keys()
