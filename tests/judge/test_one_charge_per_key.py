"""Double charges by hand, each through its own boundary; and what is none."""

from typing import TYPE_CHECKING

import pytest

from onecharge.invariants.one_charge_per_key import judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_an_order_that_was_billed_may_be_charged_once_and_not_twice(tale: "Tale") -> None:
    tale.bills("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))

    assert judge(tale.case()).verdict == "holds"

    tale.captures(tale.calls("ord-1", "up-2"))

    [violation] = judge(tale.case()).violations
    assert violation.order == "ord-1"


def test_two_orders_charged_once_each_are_left_alone(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.pays("ord-2")

    assert judge(tale.case()).verdict == "holds"


def test_a_lost_reply_and_a_retry_under_one_provider_key_is_one_charge(tale: "Tale") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    charge = tale.captures(call)
    tale.drops(call)
    tale.told(first, "unknown")
    again = tale.asks("ord-1")
    tale.replies(tale.calls("ord-1", "up-1"), charge=charge, replayed=True)
    tale.told(again)

    assert judge(tale.case()).verdict == "holds"


def test_a_decline_and_then_a_charge_under_a_new_key_is_one_charge(tale: "Tale") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.declines(call)
    tale.replies(call, 402)
    tale.told(first, "declined")
    tale.pays("ord-1", "up-2")

    assert judge(tale.case()).verdict == "holds"


def test_nothing_charged_is_nothing_judged(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "refused")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("there was nothing to judge",)


def test_a_new_provider_key_after_a_lost_reply_opens_the_way_to_the_provider(tale: "Tale") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.captures(call)
    tale.drops(call)
    tale.told(first, "unknown", error="reset")
    tale.pays("ord-1", "up-2")

    [violation] = judge(tale.case()).violations

    assert violation.order == "ord-1"
    assert violation.says == "ord-1 was charged 2 times: ch_1 (5.00 EUR), ch_2 (5.00 EUR)"
    assert violation.boundary == "API → provider"
    assert "unknown" in violation.cause
    assert (violation.at_risk_minor, violation.currency) == (500, "EUR")
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_a_service_that_sends_no_key_is_told_so(tale: "Tale") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1")
    tale.captures(call)
    tale.drops(call)
    tale.told(first, "unknown")
    again = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1"))
    tale.told(again)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert violation.cause == "the service sends no idempotency key to the provider"


def test_two_racing_requests_open_the_way_from_the_client(tale: "Tale") -> None:
    one, two = tale.asks("ord-1"), tale.asks("ord-1")
    held, racing = tale.calls("ord-1", "up-1"), tale.calls("ord-1", "up-2")
    for call, asked in ((held, one), (racing, two)):
        tale.captures(call)
        tale.replies(call)
        tale.told(asked)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "client → API"
    assert "at once" in violation.cause


def test_two_racing_requests_and_a_quick_provider_are_seen_as_well(tale: "Tale") -> None:
    one, two = tale.asks("ord-1"), tale.asks("ord-1")
    for key in ("up-1", "up-2"):
        call = tale.calls("ord-1", key)
        tale.captures(call)
        tale.replies(call)
    tale.told(one)
    tale.told(two)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "client → API"


def test_an_impatient_client_whose_second_request_is_executed_beside_the_first(
    tale: "Tale",
) -> None:
    gave_up = tale.asks("ord-1")
    held = tale.calls("ord-1", "up-1")
    tale.told(gave_up, "unknown", error="no answer within 1 s")
    again = tale.asks("ord-1")
    second = tale.calls("ord-1", "up-2")
    tale.captures(held)
    tale.captures(second)
    tale.told(again)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "client → API"


def test_a_request_that_came_while_the_first_was_being_served_should_have_waited(
    tale: "Tale",
) -> None:
    gave_up = tale.asks("ord-1")
    held = tale.calls("ord-1", "up-1")
    tale.told(gave_up, "unknown", error="no answer within 1 s")
    again = tale.asks("ord-1")
    tale.captures(held)
    tale.replies(held)
    tale.captures(tale.calls("ord-1", "up-2"))
    tale.told(again)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "client → API"


def test_a_service_that_asks_again_within_one_request_is_no_race_of_clients(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    held = tale.calls("ord-1", "up-1")
    tale.captures(tale.calls("ord-1", "up-2"))
    tale.captures(held)
    tale.told(asked)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"


def test_a_charge_after_a_success_was_told_was_never_bound_to_the_key(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.pays("ord-1", "up-2")

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "client → API"
    assert "not bound" in violation.cause


def test_a_charge_the_service_forgot_although_it_was_told(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.captures(call)
    tale.replies(call)
    tale.told(asked, "unknown", status=500)
    tale.pays("ord-1", "up-2")

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert "forgot" in violation.cause


def test_a_service_killed_in_between_comes_back_with_a_new_key(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.captures(call)
    tale.kills()
    tale.replies(call)
    tale.told(asked, "unknown")
    tale.pays("ord-1", "up-2")

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert "killed" in violation.cause


def test_a_charge_made_while_an_event_is_delivered_came_in_by_the_webhook(tale: "Tale") -> None:
    charge = tale.pays("ord-1", "up-1")
    delivery = tale.delivers(tale.event(charge))
    tale.captures(tale.calls("ord-1", "up-2"))
    tale.answered(delivery)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "provider → webhook receiver"
    assert "evt_1" in violation.cause


def test_one_provider_key_with_two_charges_is_a_provider_that_forgot(tale: "Tale") -> None:
    first = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.captures(call, key_honoured=False)
    tale.drops(call)
    tale.told(first, "unknown")
    tale.pays("ord-1", "up-1")

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert "did not honour" in violation.cause


def test_six_charges_are_counted_and_the_first_are_named(tale: "Tale") -> None:
    for number in range(6):
        tale.pays("ord-1", f"up-{number}")

    [violation] = judge(tale.case()).violations

    assert "charged 6 times" in violation.says
    assert violation.says.endswith("ch_4 (5.00 EUR) and 2 more")
    assert violation.at_risk_minor == 2500


def test_a_second_charge_whose_call_was_never_seen_is_still_two_charges(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    call = tale.calls("ord-1", "up-2")
    tale.captures(call, call="call-99")

    [violation] = judge(tale.case()).violations

    assert violation.order == "ord-1"


def test_a_first_charge_whose_call_was_never_seen_is_still_two_charges(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"), call="call-99")
    tale.told(asked, "unknown")
    tale.captures(tale.calls("ord-1", "up-2"))

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"


def test_one_key_that_paid_two_orders_is_one_charge_too_many(tale: "Tale") -> None:
    for order in ("ord-1", "ord-2"):
        asked = tale.asks(order, key="same")
        tale.captures(tale.calls(order, f"up-{order}"))
        tale.told(asked)

    [violation] = judge(tale.case()).violations

    assert violation.order == "ord-2"
    assert violation.says == "key same charged 2 orders: ch_1 (5.00 EUR), ch_2 (5.01 EUR)"
    assert violation.boundary == "client → API"


def test_a_key_that_was_refused_for_a_second_order_is_left_alone(tale: "Tale") -> None:
    asked = tale.asks("ord-1", key="same")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked)
    tale.told(tale.asks("ord-2", key="same"), "mismatch")

    assert judge(tale.case()).verdict == "holds"


def test_an_order_under_two_keys_does_not_blame_either_key(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1", key="same"), "declined")
    tale.told(tale.asks("ord-1", key="other"), "declined")
    tale.told(tale.asks("ord-2", key="same"), "mismatch")
    tale.captures(tale.calls("ord-1", "up-1"))

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize("charges, verdict", [(1, "unknown"), (2, "unknown"), (3, "violated")])
def test_charges_of_no_known_order_are_unknown_until_there_are_too_many(
    tale: "Tale", charges: int, verdict: str
) -> None:
    first, second = tale.asks("ord-1"), tale.asks("ord-2")
    for _ in range(charges):
        call = tale.calls(None, "up")
        tale.captures(call, customer=None, reference=None, amount_minor=77)
    tale.told(first, "unknown")
    tale.told(second, "unknown")

    judgement = judge(tale.case())

    assert judgement.verdict == verdict
    assert "ch_1 (0.77 EUR) cannot be tied to an order" in judgement.reasons
    if verdict == "violated":
        assert judgement.violations[0].order is None
        assert judgement.violations[0].at_risk_minor == 77
