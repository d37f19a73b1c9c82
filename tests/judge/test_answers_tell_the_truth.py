"""Lies by hand, to clients and in the service's own books; and what is no lie."""

from typing import TYPE_CHECKING

from onecharge.invariants.answers_tell_the_truth import judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_a_success_after_the_charge_is_true(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_decline_after_a_decline_is_true_and_may_be_followed_by_a_success(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.declines(call)
    tale.replies(call, 402)
    tale.told(asked, "declined")
    assert judge(tale.case()).verdict == "holds"

    tale.pays("ord-1", "up-2")
    tale.ends_well("ord-1")
    assert judge(tale.case()).verdict == "holds"


def test_authorised_before_the_answer_and_captured_after_it_is_true(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    charge = tale.authorises(call)
    tale.told(asked)
    tale.captures(call, charge=charge)

    assert judge(tale.case()).verdict == "holds"


def test_an_order_nobody_said_anything_definite_about_is_not_judged(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown")
    tale.asks("ord-2")

    assert judge(tale.case()).reasons == ("there was nothing to judge",)


def test_a_success_without_a_charge_is_a_lie(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "ok", status=201, charge="s-1")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: told ok (attempt 1), but no money was taken"
    assert violation.at_risk_minor == 500
    assert "HTTP 201" in violation.evidence[0].says


def test_a_success_said_before_the_charge_was_made_is_a_lie(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"))
    tale.captures(tale.calls("ord-1", "up-1"))

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("but no money was taken by then")


def test_a_success_about_another_amount_is_a_lie(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks("ord-1", amount_minor=900))

    [violation] = judge(tale.case()).violations

    assert (
        violation.says == "ord-1: told ok (attempt 2), but 5.00 EUR was taken instead of 9.00 EUR"
    )
    assert violation.boundary == "client → API"


def test_a_success_may_name_the_intent_instead_of_the_charge(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"), charge="ch_7", intent="pi_7")
    tale.told(asked, provider_charge="pi_7")

    assert judge(tale.case()).violations == ()


def test_a_success_that_names_a_charge_of_nobody_is_a_lie(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, provider_charge="ch_99")

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("ch_99 is no charge of it")


def test_a_missing_charge_may_be_one_that_could_not_be_tied(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.asks("ord-2")
    tale.captures(tale.calls(None), customer=None, reference=None, amount_minor=77)
    tale.told(asked)

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons[0].endswith("some charges could not be tied to an order")


def test_declined_after_a_lost_reply_is_a_lie(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.captures(call)
    tale.drops(call)
    tale.told(asked, "declined", status=402)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: told declined, but 5.00 EUR was taken (ch_1)"
    assert violation.boundary == "API → provider"
    assert violation.cause == "an unknown outcome was recorded as failed"


def test_declined_while_the_call_was_still_held_is_a_lie(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.told(asked, "declined")
    tale.captures(call)

    assert judge(tale.case()).verdict == "violated"


def test_a_charge_of_another_open_attempt_after_a_decline_is_no_lie(tale: "Tale") -> None:
    still_open, declined = tale.asks("ord-1"), tale.asks("ord-1")
    tale.told(declined, "declined")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(still_open, "unknown")

    assert judge(tale.case()).verdict == "holds"


def test_a_charge_beside_a_true_decline_of_the_bank_is_no_lie(tale: "Tale") -> None:
    still_open, declined = tale.asks("ord-1"), tale.asks("ord-1")
    tale.declines(tale.calls("ord-1", "up-1"))
    tale.captures(tale.calls("ord-1", "up-2"))
    tale.told(declined, "declined")
    tale.told(still_open, "unknown")

    assert judge(tale.case()).verdict == "holds"


def test_a_decline_under_another_key_says_nothing_of_the_first(tale: "Tale") -> None:
    first, second = tale.asks("ord-1", key="key-a"), tale.asks("ord-1", key="key-b")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(first, "unknown")
    tale.told(second, "declined")

    assert judge(tale.case()).verdict == "holds"


def test_money_taken_after_nothing_but_refusals_is_a_lie(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, "invalid", status=400)
    tale.ends_well("ord-1")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: every attempt was refused, but 5.00 EUR was taken (ch_1)"
    assert violation.boundary == "client → API"


def test_a_bank_that_said_no_and_then_yes_within_one_refused_request_is_a_lie(
    tale: "Tale",
) -> None:
    asked = tale.asks("ord-1")
    tale.declines(tale.calls("ord-1", "up-1"))
    tale.captures(tale.calls("ord-1", "up-2"))
    tale.told(asked, "declined", status=402)

    assert judge(tale.case()).verdict == "violated"


def test_a_belief_of_failure_with_money_taken_is_a_lie(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, "unknown")
    tale.settles()
    tale.believes("ord-1", "failed")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: the service believes it failed, but 5.00 EUR was taken (ch_1)"


def test_a_belief_is_not_held_against_it_before_the_end(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, "unknown")
    tale.believes("ord-1", "failed")

    assert judge(tale.case()).verdict == "holds"


def test_failed_and_given_back_is_true(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    charge = tale.captures(tale.calls("ord-1", "up-1"))
    tale.refunds(charge, 500)
    tale.told(asked, "unknown")
    tale.settles()
    tale.believes("ord-1", "failed")

    assert judge(tale.case()).verdict == "holds"


def test_a_belief_of_success_without_money_is_a_lie(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown")
    tale.settles()
    tale.believes("ord-1", "succeeded")

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("believes it succeeded, but no money was taken")
    assert violation.at_risk_minor == 500


def test_a_belief_of_success_after_everything_was_given_back_is_a_lie(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 500)
    tale.settles()
    tale.believes("ord-1", "succeeded", refunds=0)

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("but ch_1 was given back")


def test_a_refund_that_the_service_knows_of_is_true(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 500)
    tale.settles()
    tale.believes("ord-1", "succeeded", refunds=1)

    assert judge(tale.case()).verdict == "holds"


def test_a_belief_about_another_amount_is_a_lie(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "succeeded", amount_minor=900)

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("believes 9.00 EUR was taken, but 5.00 EUR was taken (ch_1)")


def test_the_right_amount_is_believed_truly(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "succeeded", amount_minor=500)

    assert judge(tale.case()).verdict == "holds"


def test_a_pending_belief_says_nothing_that_could_be_false(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "pending")

    assert judge(tale.case()).verdict == "holds"


def test_what_another_body_is_told_is_another_claims(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks("ord-1", variant="other_amount", amount_minor=900))

    assert judge(tale.case()).verdict == "holds"


def test_a_status_page_may_not_say_ok_without_a_charge_either(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "pending")
    tale.told(tale.asks_how("ord-1", variant="other_tenant"), "ok")
    assert judge(tale.case()).violations == ()

    tale.told(tale.asks_how("ord-1"), "ok")
    assert judge(tale.case()).verdict == "violated"


def test_a_refund_that_was_granted_and_never_made_is_a_lie(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.told(tale.asks_back("ord-1", 200))
    tale.told(tale.asks_back("ord-1", 500, key="key-ord-1", variant="other_operation"))
    tale.settles()

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: told 2.00 EUR refunded (attempt 1), but 0.00 EUR was"
    assert violation.at_risk_minor == 200

    tale.refunds(charge, 200)
    assert judge(tale.case()).verdict == "holds"


def test_a_belief_of_a_refund_that_was_never_made_is_a_lie(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "refunded")

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("believes it was refunded, but nothing was given back")

    tale.refunds(charge, 500)
    tale.believes("ord-1", "refunded")
    assert judge(tale.case()).verdict == "holds"


def test_a_refund_that_was_asked_for_leaves_a_success_true(tale: "Tale") -> None:
    tale.refunds(tale.pays("ord-1"), 500)
    tale.told(tale.asks_back("ord-1"))
    tale.settles()
    tale.believes("ord-1", "succeeded")

    assert judge(tale.case()).verdict == "holds"


def test_a_charge_begun_after_the_last_refusal_is_another_claims(tale: "Tale") -> None:
    tale.refused("ord-1", "invalid")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.refused("ord-2", "declined")
    tale.captures(tale.calls("ord-2", "up-2"))

    assert judge(tale.case()).verdict == "holds"


def test_a_call_under_way_may_be_that_of_another_attempt(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.told(tale.asks("ord-1"), "unknown")
    call = tale.calls("ord-1", "up-1")
    tale.told(asked, "declined")
    tale.captures(call)

    assert judge(tale.case()).verdict == "holds"
