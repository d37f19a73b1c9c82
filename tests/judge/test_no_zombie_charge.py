"""Charges of orders that had failed."""

from typing import TYPE_CHECKING

from onecharge.invariants.no_zombie_charge import judge
from simulator.core.journal import Entry

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def declined(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.declines(tale.calls("ord-1", "up-1"))
    tale.told(asked, "declined")


def test_a_declined_order_that_stays_so_is_well(tale: "Tale") -> None:
    declined(tale)

    assert judge(tale.case()).verdict == "holds"


def test_a_charge_begun_after_the_decline_is_seen(tale: "Tale") -> None:
    declined(tale)
    tale.captures(tale.calls("ord-1", "up-2"))

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: told declined, and 5.00 EUR was taken afterwards (ch_2)"
    assert violation.boundary == "API → provider"
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_a_charge_begun_before_the_decline_was_said_is_another_claims(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.told(asked, "declined")
    tale.captures(call)

    assert judge(tale.case()).verdict == "holds"


def test_whoever_asks_again_may_be_charged(tale: "Tale") -> None:
    declined(tale)
    tale.pays("ord-1", "up-2")
    assert judge(tale.case()).verdict == "holds"


def test_whoever_still_waits_or_does_not_know_may_be_charged(tale: "Tale") -> None:
    waiting = tale.asks("ord-1")
    declined(tale)
    call = tale.calls("ord-1", "up-2")
    tale.told(waiting, "unknown")
    tale.captures(call)
    assert judge(tale.case()).verdict == "holds"

    tale.told(tale.asks("ord-2"), "unknown")
    tale.refused("ord-2", "invalid")
    tale.captures(tale.calls("ord-2"))
    assert judge(tale.case()).verdict == "holds"


def test_a_success_beside_a_decline_may_be_charged(tale: "Tale") -> None:
    ok, no = tale.asks("ord-1"), tale.asks("ord-1")
    tale.told(ok)
    tale.told(no, "declined")
    tale.captures(tale.calls("ord-1"))

    assert judge(tale.case()).verdict == "holds"


def test_a_connection_that_was_refused_causes_nothing(tale: "Tale") -> None:
    tale.refused("ord-1", "refused")
    declined(tale)
    tale.captures(tale.calls("ord-1", "up-2"))

    assert judge(tale.case()).verdict == "violated"


def test_an_event_that_asks_for_a_charge_may_cause_one(tale: "Tale") -> None:
    declined(tale)
    value = {"what": "event.created", "event": "evt-9", "type": "invoice.due"}
    tale.recorder(Entry("provider", "effect", value, "ord-1"))
    send = {"what": "attempt", "attempt": "att-9", "event": "evt-9"}
    tale.recorder(Entry("webhook", "send", send, "ord-1"))
    tale.captures(tale.calls("ord-1", "up-2"))

    assert judge(tale.case()).verdict == "holds"


def test_the_news_of_the_decline_asks_for_nothing(tale: "Tale") -> None:
    declined(tale)
    tale.answered(tale.delivers(tale.event("ch_1", "charge.declined")))
    tale.captures(tale.calls("ord-1", "up-2"))

    assert judge(tale.case()).verdict == "violated"


def test_without_a_failure_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")

    assert not judge(tale.case()).exercised
