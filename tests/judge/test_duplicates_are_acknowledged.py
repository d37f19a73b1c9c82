"""Events that come again."""

from typing import TYPE_CHECKING

from onecharge.invariants.duplicates_are_acknowledged import NEEDS, PATIENCE, judge
from simulator.core.journal import Entry

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_acknowledged_as_often_as_it_comes_is_right(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"), times=3)

    assert judge(tale.case()).verdict == "holds"


def test_before_its_first_acknowledgement_an_event_may_be_refused(tale: "Tale") -> None:
    event = tale.event(tale.pays("ord-1"))
    for _ in range(PATIENCE):
        tale.answered(tale.delivers(event), "fail", status=404)
    tale.answered(tale.delivers(event))
    tale.answered(tale.delivers(event))

    judgement = judge(tale.case())

    assert (judgement.verdict, judgement.advice) == ("holds", ())


def test_a_duplicate_refused_once_and_taken_then_is_advice(tale: "Tale") -> None:
    event = tale.hears(tale.pays("ord-1"))
    for _ in range(PATIENCE):
        tale.answered(tale.delivers(event), "fail", status=409)
    tale.answered(tale.delivers(event))

    judgement = judge(tale.case())

    assert judgement.verdict == "holds"
    assert judgement.advice == (
        f"events that were known already were answered with an error (1; {event})",
    )


def test_a_duplicate_that_is_refused_for_ever_is_seen(tale: "Tale") -> None:
    event = tale.hears(tale.pays("ord-1"))
    for number in range(PATIENCE):
        assert judge(tale.case()).violations == ()
        tale.answered(tale.delivers(event, copy=number), "fail", status=500)

    [violation] = judge(tale.case()).violations

    assert violation.says == (
        f"{event} (charge.captured) was acknowledged, and refused 3 times when it came again"
    )
    assert violation.boundary == "provider → webhook receiver"
    assert "HTTP 500" in violation.cause
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_silence_and_forgeries_are_no_refusals(tale: "Tale") -> None:
    event = tale.hears(tale.pays("ord-1"))
    for _ in range(PATIENCE):
        tale.answered(tale.delivers(event), "unknown", error="reset")
        tale.answered(tale.delivers(event, fault="wrong_signature"), "fail", status=400)

    assert judge(tale.case()).verdict == "holds"


def test_an_event_of_no_known_order_is_judged_as_well(tale: "Tale") -> None:
    tale.recorder(
        Entry("provider", "effect", {"what": "event.created", "event": "e", "type": "account"})
    )
    for number in range(1 + PATIENCE):
        attempt = {"what": "attempt", "attempt": f"a{number}", "event": "e"}
        tale.recorder(Entry("webhook", "send", attempt))
        tale.recorder(Entry("webhook", "fail" if number else "ok", attempt | {"status": 500}))

    [violation] = judge(tale.case()).violations

    assert violation.order is None


def test_two_endpoints_are_told_each_for_itself(tale: "Tale") -> None:
    event = tale.hears(tale.pays("ord-1"))
    for _ in range(PATIENCE):
        attempt = tale.delivers(event, url="http://service/other")
        tale.answered(attempt, "fail", status=500)

    assert not judge(tale.case()).exercised


def test_without_a_duplicate_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))

    assert not judge(tale.case()).exercised
    assert {"webhooks"} == NEEDS
