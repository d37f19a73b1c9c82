"""The life of a charge, row by row."""

import pytest

from simulator.core.charges import (
    TRANSITIONS,
    Action,
    CaptureExceedsAuthorisation,
    Charge,
    IllegalTransition,
    RefundExceedsCapture,
    Status,
)

FINAL = {Status.DECLINED, Status.CANCELLED, Status.REFUNDED}


def charge(status: Status = Status.PENDING) -> Charge:
    return Charge("ch_1", "shop", 500, "EUR", status=status)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("action", Action)
def test_a_change_is_legal_exactly_when_the_table_has_its_row(
    status: Status, action: Action
) -> None:
    if (status, action) in TRANSITIONS:
        assert charge(status).after(action) is TRANSITIONS[status, action]
    else:
        with pytest.raises(IllegalTransition, match=f"cannot {action} a charge that is {status}"):
            charge(status).after(action)


def test_nothing_follows_a_final_status() -> None:
    assert not {status for status, _ in TRANSITIONS} & FINAL


def test_every_status_is_reached() -> None:
    assert {Status.PENDING, *TRANSITIONS.values()} == set(Status)


def test_a_charge_never_changes_but_is_followed_by_another() -> None:
    pending = charge()

    captured = pending.authorise().capture()

    assert (pending.status, captured.status) == (Status.PENDING, Status.CAPTURED)
    assert captured.captured_minor == 500


def test_a_part_can_be_captured_and_no_more_than_was_authorised() -> None:
    authorised = charge().authorise()

    assert authorised.capture(200).captured_minor == 200
    with pytest.raises(CaptureExceedsAuthorisation):
        authorised.capture(501)


def test_refunds_in_parts_end_when_all_has_gone_back() -> None:
    once = charge().capture().refund(200)
    twice = once.refund(300)

    assert (once.status, once.refunded_minor) == (Status.CAPTURED, 200)
    assert (twice.status, twice.refunded_minor) == (Status.REFUNDED, 500)
    with pytest.raises(IllegalTransition):
        twice.refund(1)


def test_refunds_never_exceed_the_capture() -> None:
    once = charge().authorise().capture(300).refund(200)

    with pytest.raises(RefundExceedsCapture, match="101 is more than the 100 left"):
        once.refund(101)


def test_what_was_only_authorised_cannot_be_refunded() -> None:
    with pytest.raises(IllegalTransition):
        charge().authorise().refund(1)


def test_a_decline_remembers_why() -> None:
    declined = charge().decline("lost_card")

    assert (declined.status, declined.decline_code) == (Status.DECLINED, "lost_card")


def test_a_cancelled_charge_took_nothing() -> None:
    cancelled = charge().authorise().cancel()

    assert (cancelled.status, cancelled.captured_minor) == (Status.CANCELLED, 0)


def test_a_charge_introduces_itself_to_people() -> None:
    assert repr(charge()) == "<Charge ch_1 pending 5.00 EUR>"
