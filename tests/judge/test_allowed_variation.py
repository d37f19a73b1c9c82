"""What the specifications leave to a service is never held against it: one line, one history."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants import invariants
from onecharge.verdict import judge_scenario

if TYPE_CHECKING:
    from onecharge.history.outcomes import Outcome
    from tests.judge.conftest import Tale


def nothing_is_flagged(tale: "Tale") -> bool:
    scenario = judge_scenario(tale.records, repeat="")
    assert scenario.violations == []
    return scenario.verdict == "holds"


@pytest.mark.parametrize("outcome", ["in_flight", "retry_later"])
def test_a_duplicate_in_flight_may_be_told_to_wait(tale: "Tale", outcome: "Outcome") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.refused("ord-1", outcome, status=409)
    charge = tale.captures(call)
    tale.replies(call, charge=charge)
    tale.told(first, provider_charge=charge)
    tale.refused("ord-1", outcome, status=409)  # the lock is freed a moment after the answer
    tale.told(tale.asks("ord-1"), provider_charge=charge)
    tale.hears(charge)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


def test_a_duplicate_in_flight_may_wait_for_the_first(tale: "Tale") -> None:
    asked = [tale.asks("ord-1") for _ in range(3)]
    call = tale.calls("ord-1", "up-1")
    charge = tale.captures(call)
    tale.replies(call, charge=charge)
    for one in asked:
        tale.told(one, provider_charge=charge, charge="s-1")
    tale.hears(charge)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


@pytest.mark.parametrize(
    "outcome, status", [("invalid", 400), ("in_flight", 409), ("mismatch", 422)]
)
def test_a_mismatch_may_be_refused_with_400_409_or_422(
    tale: "Tale", outcome: "Outcome", status: int
) -> None:
    tale.hears(tale.pays("ord-1"))
    tale.refused("ord-1", outcome, status=status, variant="other_amount", amount_minor=900)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


@pytest.mark.parametrize("kept", [True, False])
def test_a_decline_may_be_kept_or_tried_again(tale: "Tale", kept: bool) -> None:  # noqa: FBT001
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.replies(call, 402, charge=tale.declines(call))
    tale.told(asked, "declined")
    if kept:
        tale.refused("ord-1", "declined")
        tale.settles()
        tale.believes("ord-1", "failed", effects=0, effects_minor=0)
    else:
        tale.hears(tale.pays("ord-1", "up-2"))
        tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


@pytest.mark.parametrize("kept", [True, False])
def test_an_error_may_be_kept_for_a_while_if_the_key_can_still_finish(
    tale: "Tale",
    kept: bool,  # noqa: FBT001
) -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    charge = tale.captures(call)
    tale.drops(call)
    tale.told(asked, "unknown", status=500)
    if kept:
        tale.refused("ord-1", "unknown", status=500)
    again = tale.asks("ord-1")
    tale.replies(tale.calls("ord-1", "up-1"), charge=charge, replayed=True)
    tale.told(again, provider_charge=charge)
    tale.hears(charge)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


def test_after_its_documented_retention_a_key_may_be_executed_again(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1", "up-1"))
    tale.key_expires("ord-1")
    tale.hears(tale.pays("ord-1", "up-2"))
    tale.settles()
    tale.believes("ord-1", effects=2, effects_minor=1000)

    assert nothing_is_flagged(tale)


def test_a_key_in_its_second_life_is_charged_once_all_the_same(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.key_expires("ord-1")
    tale.pays("ord-1", "up-2")
    tale.pays("ord-1", "up-3")

    [violation] = judge_scenario(tale.records, repeat="").violations[:1]

    assert violation.says == "ord-1 was charged 2 times: ch_2 (5.00 EUR), ch_3 (5.00 EUR)"


@pytest.mark.parametrize("status", [404, 409, 500, 503])
def test_an_event_that_is_not_yet_known_may_be_refused_and_delivered_again(
    tale: "Tale", status: int
) -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    charge = tale.captures(call)
    event = tale.event(charge)
    for _ in range(5):
        tale.answered(tale.delivers(event), "fail", status=status)
    tale.replies(call, charge=charge)
    tale.told(asked, provider_charge=charge)
    tale.answered(tale.delivers(event), status=200)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


def test_a_service_may_look_things_up_as_often_as_it_likes(tale: "Tale") -> None:
    def looks(*operations: str) -> None:
        for operation in operations:
            tale.replies(tale.calls("ord-1", operation=operation), 200)

    looks("charge.list")
    charge = tale.pays("ord-1")
    looks(*["charge.list", "charge.read", "event.read"] * 5)
    tale.hears(charge)
    tale.ends_well("ord-1")
    looks(*["charge.list", "event.list"] * 5)

    assert nothing_is_flagged(tale)


def test_executed_twice_is_advice_where_the_providers_key_saved_it(tale: "Tale") -> None:
    one, two = tale.asks("ord-1"), tale.asks("ord-1")
    first = tale.calls("ord-1", "up-1")
    second = tale.calls("ord-1", "up-1")
    charge = tale.captures(first)
    tale.replies(first, charge=charge)
    tale.replies(second, charge=charge, replayed=True)
    tale.told(one, provider_charge=charge)
    tale.told(two, provider_charge=charge)
    tale.hears(charge)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)
    [says] = judge_scenario(tale.records, repeat="").advice
    assert "only the provider's key saved it" in says


def test_money_moved_twice_is_a_violation_under_one_provider_key_too(tale: "Tale") -> None:
    for _ in range(2):
        tale.pays("ord-1", "up-1")

    assert judge_scenario(tale.records, repeat="").violations


def test_json_that_is_written_differently_may_be_another_request(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.refused("ord-1", variant="json_jitter")
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)
    [says] = judge_scenario(tale.records, repeat="").advice
    assert says.startswith("the same JSON with other white space")


@pytest.mark.parametrize("first", ["declined", "invalid"])
def test_a_new_key_after_a_definite_failure_may_be_charged(tale: "Tale", first: "Outcome") -> None:
    tale.refused("ord-1", first)
    again = tale.asks("ord-1", key="key-2", variant="new_key")
    charge = tale.captures(tale.calls("ord-1", "up-2"))
    tale.told(again, provider_charge=charge)
    tale.hears(charge)
    tale.ends_well("ord-1")

    assert nothing_is_flagged(tale)


@pytest.mark.parametrize("claims, verdict", [([], "holds"), (["one_charge_per_order"], "violated")])
def test_a_new_key_is_a_new_purchase_unless_the_service_claims_to_know_better(
    tell: type["Tale"], claims: list[str], verdict: str
) -> None:
    tale = tell("ord-1", claims=claims)
    tale.hears(tale.pays("ord-1", "up-1"))
    again = tale.asks("ord-1", key="key-2", variant="new_key")
    charge = tale.captures(tale.calls("ord-1", "up-2"))
    tale.told(again, provider_charge=charge)
    tale.hears(charge)
    tale.settles()
    tale.believes("ord-1", effects=2, effects_minor=1000)

    assert judge_scenario(tale.records, repeat="").verdict == verdict


def test_under_a_new_key_no_key_is_charged_twice(tale: "Tale") -> None:
    tale.refused("ord-1", "declined")
    for provider_key in ("up-1", "up-2"):
        again = tale.asks("ord-1", key="key-2", variant="new_key")
        tale.told(again, provider_charge=tale.captures(tale.calls("ord-1", provider_key)))

    assert judge_scenario(tale.records, repeat="").verdict == "violated"


def test_an_asynchronous_service_is_settled_by_what_its_status_page_says(
    tell: type["Tale"],
) -> None:
    tale = tell("ord-1", capabilities={"read_back": False, "effects": False})
    tale.told(tale.asks("ord-1"), "pending", status=202)
    charge = tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(tale.asks_how("ord-1"), "ok", provider_charge=charge)
    tale.told(tale.asks("ord-1"), "pending", status=202)  # the first answer, replayed
    tale.hears(charge)
    tale.settles()

    assert nothing_is_flagged(tale)


@pytest.mark.parametrize("invariant", invariants(), ids=lambda invariant: invariant.name)
def test_what_is_declared_absent_is_not_applicable(tell: type["Tale"], invariant: Any) -> None:
    for need in invariant.needs:
        tale = tell("ord-1", capabilities={need: False})
        tale.hears(tale.pays("ord-1"))
        tale.ends_well("ord-1")
        found = {one.name: one for one in judge_scenario(tale.records, repeat="").invariants}

        assert found[invariant.name].verdict == "not_applicable"
        assert found[invariant.name].lacking == (need,)
