"""Liveness: what must have come right once faults have stopped."""

from typing import TYPE_CHECKING

from onecharge.invariants.every_order_settles import judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_an_order_that_was_answered_and_agreed_upon_is_settled(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_service_that_cannot_be_asked_is_settled_by_its_answers(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "in_flight")
    tale.pays("ord-1")
    tale.told(tale.asks("ord-2"), "invalid")
    tale.settles()

    assert judge(tale.case()).verdict == "holds"


def test_an_order_that_never_reached_anybody_has_nothing_to_settle(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "refused")
    tale.told(tale.asks("ord-2"), "unknown")
    tale.settles()
    tale.believes("ord-2", "absent")

    assert judge(tale.case()).verdict == "holds"


def test_before_healing_nothing_is_asked_of_it(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("the run ended before healing began",)


def test_a_run_cut_short_while_healing_is_unknown(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal")
    tale.judge("unknown", "converged", missing=["ord-1 waits"], after_s=5, bound_s=5)

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("the run ended while healing",)


def test_what_came_right_late_is_unknown_and_says_what_was_late(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal")
    tale.judge("unknown", "converged", missing=["ord-1 waits"], after_s=5.1, bound_s=5)
    tale.judge("ok", "converged", after_s=9, bound_s=20)
    tale.phase("quiet", "read")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("all was settled after 9 s, not within 5 s: ord-1 waits",)


def test_what_never_came_right_is_a_violation(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal")
    tale.judge(
        "unknown", "converged", missing=["ord-1: waits", "a second thing"], after_s=20, bound_s=5
    )
    tale.phase("quiet", "read")

    one, two = judge(tale.case()).violations

    assert (one.order, two.order) == ("ord-1", None)
    assert one.says == "ord-1: waits: 20 s after faults stopped, and it never came right"
    assert one.at_risk_minor == 500
    assert (two.at_risk_minor, two.currency) == (0, "")


def test_what_nobody_waited_for_since_money_was_wrong_already_is_unknown(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal")
    tale.judge("unknown", "converged", missing=["ord-1 waits"], after_s=5, bound_s=5)
    tale.phase("quiet", "read")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    [reason] = judgement.reasons
    assert reason.startswith("not settled 5 s after faults stopped, and not waited for any longer")
    assert reason.endswith("since money was wrong already: ord-1 waits")


def test_what_is_missing_at_four_times_the_bound_needs_no_later_phase(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal")
    tale.judge("unknown", "converged", missing=["ord-1 waits"], after_s=20, bound_s=5)

    assert judge(tale.case()).verdict == "violated"


def test_a_key_that_stays_pending_is_stuck_and_named_once(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, "unknown")
    tale.phase("heal")
    missing = ["ord-1 has no definite answer", "1 event(s) not acknowledged"]
    tale.judge("unknown", "converged", missing=missing, after_s=20, bound_s=5)
    tale.phase("quiet", "read")
    tale.believes("ord-1", "pending")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1 is still pending to the service"
    assert violation.boundary == "client → API"
    assert violation.at_risk_minor == 500


def test_a_client_left_without_an_answer_is_seen_where_nobody_can_be_asked(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.settles()
    tale.believes("ord-1", None)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1 never got a definite answer"


def test_money_taken_and_no_record_of_it_is_lost(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "absent")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 5.00 EUR taken (ch_1), and the service has no record of it"
    assert violation.boundary == "API → provider"


def test_a_belief_that_cannot_be_read_is_unknown(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1", "unreadable")

    judgement = judge(tale.case())

    assert judgement.verdict == "unknown"
    assert judgement.reasons == ("what the service believes of ord-1 could not be read",)


def test_an_event_that_nobody_ever_acknowledged_is_seen(tale: "Tale") -> None:
    event = tale.event(tale.pays("ord-1"))
    tale.answered(tale.delivers(event), "fail", status=500)
    tale.answered(tale.delivers(event), "unknown", error="timed out")
    tale.ends_well("ord-1")

    [violation] = judge(tale.case()).violations

    assert violation.says == (
        "evt_1 (charge.captured) of ord-1 was sent 2 times and never acknowledged"
    )
    assert violation.boundary == "provider → webhook receiver"
    assert [piece.says for piece in violation.evidence[:2]] == [
        "delivery of evt_1 was answered with HTTP 500",
        "delivery of evt_1 was not answered",
    ]


def test_an_event_refused_at_first_and_acknowledged_later_is_well(tale: "Tale") -> None:
    event = tale.event(tale.pays("ord-1"))
    tale.answered(tale.delivers(event, forged=True), "fail", status=401)
    tale.answered(tale.delivers(event), "fail", status=409)
    tale.answered(tale.delivers(event, delivery="resent"), status=200)
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_forged_event_need_not_be_acknowledged(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.answered(tale.forges("ord-1"), "fail", status=401)
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_an_event_born_after_all_had_converged_may_still_be_on_its_way(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.settles()
    tale.delivers(tale.event(charge))
    tale.believes("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_run_that_went_on_without_a_word_on_convergence_is_judged_by_its_end(
    tale: "Tale",
) -> None:
    tale.hears(tale.pays("ord-1"))
    tale.phase("heal", "quiet", "read")
    tale.believes("ord-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_client_who_asked_how_it_went_and_was_told_does_not_wait(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "pending")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(tale.asks("ord-1", what="read"), "ok")
    tale.settles()
    tale.believes("ord-1", None)

    assert judge(tale.case()).verdict == "holds"
