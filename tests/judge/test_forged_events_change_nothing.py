"""Events that nobody can vouch for."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants.forged_events_change_nothing import NEEDS, judge
from simulator.core.journal import Entry

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_a_forged_event_that_is_refused_changes_nothing(tale: "Tale") -> None:
    tale.answered(tale.forges("ord-1"), "fail", status=401)
    tale.pays("ord-1")
    tale.ends_well("ord-1")

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize(
    "belief, change",
    [
        ({"status": "succeeded"}, "the service believes it was paid"),
        ({"status": "failed", "effects": 1}, "1 credit(s) are booked for 0 real charge(s)"),
        ({"status": "refunded"}, "the service believes it was refunded"),
    ],
)
def test_what_only_a_forged_event_can_have_told_is_seen(
    tale: "Tale", belief: dict[str, Any], change: str
) -> None:
    tale.refused("ord-1", "declined")
    tale.answered(tale.forges("ord-1"), status=200)
    tale.believes("ord-1", **belief)

    [violation] = judge(tale.case()).violations

    assert violation.says == (f"ord-1: after an event that cannot be verified (forged), {change}")
    assert violation.boundary == "provider → webhook receiver"
    assert {piece.side for piece in violation.evidence} == {"client", "provider", "service"}
    assert "forged delivery of evt_forged_1 was acknowledged" in [
        piece.says for piece in violation.evidence
    ]


def test_a_forged_failure_that_is_believed_is_seen(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.answered(tale.forges("ord-1", "charge.declined"), status=200)
    tale.believes("ord-1", "failed")

    assert judge(tale.case()).verdict == "violated"


def test_a_stale_event_that_is_believed_again_is_seen(tale: "Tale") -> None:
    event = tale.event(tale.pays("ord-1"))
    tale.answered(tale.delivers(event))
    attempt = tale.delivers(event, fault="old_signature")
    tale.answered(attempt)
    tale.believes("ord-1", effects=2)

    [violation] = judge(tale.case()).violations

    assert "(old signature), 2 credit(s) are booked for 1 real charge(s)" in violation.says


def test_what_was_refused_is_not_to_blame(tale: "Tale") -> None:
    event = tale.event(tale.pays("ord-1"))
    tale.answered(tale.delivers(event, fault="wrong_signature"), "fail", status=400)
    tale.believes("ord-1", effects=2)

    assert judge(tale.case()).verdict == "holds"


def test_a_fault_that_fired_tells_what_became_of_the_delivery(tale: "Tale") -> None:
    attempt = tale.delivers(tale.event(tale.pays("ord-1")))
    value = {"what": "fired", "rule": "unsigned", "fault": "missing_signature"}
    tale.recorder(Entry("fault", "effect", value | {"attempt": attempt}))
    tale.answered(attempt, status=200)
    tale.ends_well("ord-1")

    judgement = judge(tale.case())

    assert judgement.verdict == "holds"
    assert judgement.advice == (
        f"deliveries that could not be verified were acknowledged (1; {attempt})",
    )


def test_whoever_looks_it_up_may_acknowledge_anything(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    attempt = tale.delivers(tale.event(charge), fault="wrong_signature")
    tale.replies(tale.calls("ord-1", operation="charge.read"), 200, charge=charge)
    tale.answered(attempt, status=200)
    tale.ends_well("ord-1")

    assert judge(tale.case()).advice == ()


def test_a_charge_made_because_of_a_forged_event_is_seen(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.answered(tale.forges("ord-2", "invoice.due"), status=200)
    assert judge(tale.case()).verdict == "unknown"

    tale.captures(tale.calls("ord-2"))
    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("ch_1 was made because of it")


def test_a_charge_that_was_there_before_was_not_made_because_of_it(tale: "Tale") -> None:
    tale.captures(tale.calls("ord-2"))
    tale.answered(tale.forges("ord-2", "invoice.due"), status=200)

    assert judge(tale.case()).verdict == "holds"


def test_the_charge_behind_a_belief_may_be_one_that_could_not_be_tied(tale: "Tale") -> None:
    tale.refused("ord-1", "unknown")
    tale.asks("ord-2")
    tale.captures(tale.calls(None), reference=None, customer=None, amount_minor=7)
    tale.answered(tale.forges("ord-1"), status=200)
    tale.believes("ord-1")

    assert judge(tale.case()).verdict == "unknown"


def test_without_a_forgery_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"))
    tale.ends_well("ord-1")

    assert not judge(tale.case()).exercised
    assert {"webhooks"} == NEEDS
