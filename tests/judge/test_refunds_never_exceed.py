"""Money given back."""

from typing import TYPE_CHECKING

from onecharge.invariants.refunds_never_exceed import NEEDS, judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_what_was_asked_for_and_no_more_is_right(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    asked = tale.asks_back("ord-1", 200)
    tale.refunds(charge, 200, "back-1")
    tale.told(asked)
    tale.told(tale.asks_back("ord-1", 200))
    tale.refused("ord-1", "declined", what="refund", key="too-much", amount_minor=900)
    tale.believes("ord-1", refunded_minor=200)

    assert judge(tale.case()).verdict == "holds"


def test_a_refund_without_an_amount_is_of_everything(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 500)
    tale.told(tale.asks_back("ord-1"))

    assert judge(tale.case()).verdict == "holds"


def test_a_refund_that_is_made_again_when_it_comes_again_is_seen(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    for number in (1, 2):
        asked = tale.asks_back("ord-1", 200)
        tale.refunds(charge, 200, f"back-{number}")
        tale.told(asked)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 4.00 EUR was given back, 2.00 EUR was asked for"
    assert violation.boundary == "client → API"
    assert violation.at_risk_minor == 200
    assert "refund 1 under key back-ord-1 was told: ok" in [p.says for p in violation.evidence]
    assert "gave back 2.00 EUR of ch_1, under provider key back-1" in [
        piece.says for piece in violation.evidence
    ]


def test_a_refund_that_the_service_sends_twice_opens_the_way_to_the_provider(
    tale: "Tale",
) -> None:
    charge = tale.pays("ord-1")
    asked = tale.asks_back("ord-1", 100)
    tale.refunds(charge, 100, "one")
    tale.refunds(charge, 100, "two")
    tale.told(asked)
    [violation] = judge(tale.case()).violations
    assert violation.boundary == "API → provider"
    assert "several keys" in violation.cause

    tale.told(tale.asks_back("ord-2", 100), "unknown")
    charge = tale.pays("ord-2")
    tale.refunds(charge, 100)
    tale.refunds(charge, 100)
    [_, violation] = judge(tale.case()).violations
    assert "without a key that it honoured" in violation.cause
    assert "under no provider key" in violation.evidence[-1].says


def test_a_purchase_that_is_undone_although_nobody_asked_is_seen(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 500)

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: 5.00 EUR was given back, and nobody had asked for it"


def test_a_second_charge_or_a_failed_purchase_may_be_given_back(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.refunds(tale.pays("ord-1", "up-2"), 500)
    asked = tale.asks("ord-2")
    tale.refunds(tale.captures(tale.calls("ord-2")), 501)
    tale.told(asked, "declined")

    assert judge(tale.case()).verdict == "holds"


def test_more_booked_as_given_back_than_was_taken_is_seen(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.believes("ord-1", "refunded", refunded_minor=800)

    [violation] = judge(tale.case()).violations

    assert violation.says == ("ord-1: the service believes it gave back 8.00 EUR of 5.00 EUR taken")
    assert violation.at_risk_minor == 300


def test_one_refund_that_was_booked_with_every_event_is_the_receivers(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.told(tale.asks_back("ord-1", 500))
    tale.refunds(charge, 500)
    for _ in range(2):
        tale.answered(tale.delivers(tale.event(charge, "charge.refunded")), status=200)
    tale.believes("ord-1", refunded_minor=1_000)

    [violation] = judge(tale.case()).violations

    assert violation.boundary == "provider → webhook receiver"
    assert (
        violation.cause == "one refund was booked more than once: by its answer and by its events"
    )


def test_without_refunds_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks_how("ord-1"))
    tale.ends_well("ord-1")

    assert not judge(tale.case()).exercised
    assert {"refunds"} == NEEDS
