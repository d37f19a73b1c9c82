"""The service's ledger beside the provider's."""

from typing import TYPE_CHECKING

from onecharge.invariants.one_effect_per_event import NEEDS, judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_one_credit_for_one_charge_is_right_however_often_it_is_told(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"), times=3)
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_an_order_of_which_nothing_was_taken_has_nothing_booked(tale: "Tale") -> None:
    tale.pays("ord-1")
    asked = tale.asks("ord-2")
    tale.declines(tale.calls("ord-2", "up-2"))
    tale.told(asked, "declined")
    tale.ends_well("ord-1")
    tale.believes("ord-2", "failed", effects=0, effects_minor=0)

    assert judge(tale.case()).verdict == "holds"


def test_a_service_that_counts_only_is_judged_by_number(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", effects=1)

    assert judge(tale.case()).verdict == "holds"


def test_a_credit_for_each_delivery_is_seen(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"), times=3)
    tale.settles()
    tale.believes("ord-1", effects=3, effects_minor=1500)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 1 real charge(s), 3 booked"
    assert violation.boundary == "provider → webhook receiver"
    assert violation.cause == "evt_1 was delivered 3 times and booked each time"
    assert violation.at_risk_minor == 1000
    assert {piece.side for piece in violation.evidence} == {"client", "provider", "service"}


def test_a_credit_by_the_reply_and_one_by_the_webhook_is_seen(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.settles()
    tale.believes("ord-1", effects=2)

    [violation] = judge(tale.case()).violations

    assert violation.cause == "the reply and the webhook both booked the charge"
    assert violation.at_risk_minor == 500


def test_too_many_credits_are_wrong_even_before_all_is_settled(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.believes("ord-1", effects=2)

    assert judge(tale.case()).verdict == "violated"


def test_an_event_acknowledged_and_never_booked_is_lost_money(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.settles()
    tale.believes("ord-1", effects=0, effects_minor=0)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "provider → webhook receiver"
    assert violation.cause == "evt_1 was acknowledged without being booked"


def test_a_charge_that_nobody_told_the_service_of_is_lost_on_the_way_back(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.answered(tale.delivers(tale.event(charge)), "fail", status=500)
    tale.settles()
    tale.believes("ord-1", effects=0)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert violation.cause == "neither the reply nor a webhook led to a credit"


def test_a_charge_not_yet_booked_when_the_run_ended_is_unknown(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.believes("ord-1", effects=0)

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("ord-1: the run ended before its charge had to be booked",)


def test_a_second_charge_that_the_service_does_not_know_of_is_seen(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.hears(tale.pays("ord-1", "up-2"))
    tale.ends_well("ord-1")

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "API → provider"
    assert violation.cause == "a charge was made that the service does not know of"


def test_the_right_number_of_credits_with_a_wrong_sum_is_seen(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", effects=1, effects_minor=501)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 5.00 EUR taken, 5.01 EUR booked"
    assert violation.at_risk_minor == 1


def test_a_credit_of_a_sum_for_no_charge_at_all_is_seen(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown")
    tale.settles()
    tale.believes("ord-1", "succeeded", effects=0, effects_minor=500)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 0.00 EUR taken, 5.00 EUR booked"


def test_a_charge_made_after_the_question_is_no_contradiction(tale: "Tale") -> None:
    tale.settles()
    tale.told(tale.asks("ord-2"), "unknown")
    tale.believes("ord-2", "absent", effects=0)
    tale.pays("ord-1")
    tale.believes("ord-1", effects=1)
    tale.captures(tale.calls("ord-2", "up-2"))

    assert judge(tale.case()).verdict == "holds"


def test_a_ledger_that_could_not_be_read_is_unknown(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("what the service booked for ord-1 could not be read",)


def test_with_nothing_charged_and_nothing_read_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "refused")

    assert judge(tale.case()).reasons == ("there was nothing to judge",)


def test_it_needs_a_ledger_to_read_and_webhooks_to_repeat() -> None:
    assert {"effects", "webhooks"} == NEEDS


def test_an_event_booked_twice_is_seen_though_another_was_forgotten(tale: "Tale") -> None:
    first, second = tale.pays("ord-1"), tale.pays("ord-1")
    tale.hears(first)
    tale.hears(second)
    tale.settles()
    tale.believes("ord-1", effects=2, effects_minor=1000, effects_by_event={"evt_1": 2})

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: evt_1 was booked 2 times"


def test_each_event_with_its_one_effect_is_right(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"), times=3)
    tale.settles()
    tale.believes("ord-1", effects=1, effects_minor=500, effects_by_event={"evt_1": 1})

    assert judge(tale.case()).verdict == "holds"


def test_a_credit_too_many_may_be_of_a_charge_that_could_not_be_tied(tale: "Tale") -> None:
    tale.asks("ord-2")
    tale.pays("ord-1")
    tale.captures(tale.calls(None), reference=None, customer=None, amount_minor=7)
    tale.settles()
    tale.believes("ord-1", effects=2)

    assert judge(tale.case()).verdict == "unknown"
