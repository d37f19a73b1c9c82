"""What an answer proves, case by case: the tables of ``outcomes.py`` and ``decisions.py``."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from reference_impl.decisions import Both, Decision, Entry, decide, decide_change, refusal
from reference_impl.operation import Change, Intent, Operation
from reference_impl.outcomes import (
    Absent,
    Answer,
    Authorised,
    Captured,
    Failed,
    Lost,
    Outcome,
    Refunded,
    Then,
    Unknown,
    after_look,
    classify,
    found,
)

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CHARGE = Operation(
    id="pay_1",
    kind="charge",
    tenant="shop",
    intent=Intent("ord-1", 500, "EUR", "cus-1"),
    fingerprint="f",
    upstream_key="charge-pay_1",
    created_at=NOW,
)
AUTHORISING = replace(CHARGE, intent=replace(CHARGE.intent, capture=False))
CAPTURE = replace(CHARGE, id="cap_1", kind="capture", charge="pay_1", provider_charge="ch_1")
REFUND = replace(
    CAPTURE, id="ref_1", kind="refund", intent=replace(CHARGE.intent, amount_minor=200)
)


def shown(status: str = "captured", **changes: object) -> dict[str, object]:
    return {
        "id": "ch_1",
        "status": status,
        "amount_minor": 500,
        "captured_minor": 500 if status in {"captured", "refunded"} else 0,
        "currency": "EUR",
        "reference": "ord-1",
        "metadata": {"charge_id": "pay_1"},
        "decline_code": "insufficient_funds" if status == "declined" else None,
    } | changes


def body(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "answer, outcome",
    [
        (Lost("reset"), Unknown("reset", Then.REPEAT)),
        (Lost("timeout"), Unknown("timeout", Then.WAIT)),
        (Lost("unreachable"), Unknown("unreachable", Then.WAIT)),
        (Answer(201, body(shown())), Captured("ch_1", 500)),
        (Answer(200, body(shown())), Captured("ch_1", 500)),
        (Answer(201, body(shown("refunded"))), Captured("ch_1", 500)),
        (Answer(201, body(shown(captured_minor=300))), Captured("ch_1", 300)),
        (Answer(201, body(shown("pending"))), Unknown("pending", Then.LOOK)),
        (Answer(201, body(shown("authorised"))), Unknown("authorised", Then.LOOK)),
        (Answer(201, body(shown("cancelled"))), Failed("cancelled", "ch_1")),
        (Answer(201, body(shown("new status"))), Unknown("garbage", Then.REPEAT)),
        (Answer(201, body(shown(currency="USD"))), Unknown("another_charge", Then.WAIT)),
        (Answer(201, body(shown(reference="x"))), Unknown("another_charge", Then.WAIT)),
        (Answer(201, b"<html>"), Unknown("garbage", Then.REPEAT)),
        (Answer(201, b""), Unknown("garbage", Then.REPEAT)),
        (
            Answer(402, body({"code": "declined", "charge": shown("declined")})),
            Failed("insufficient_funds", "ch_1"),
        ),
        (
            Answer(402, body({"charge": shown("declined", decline_code=None)})),
            Failed("declined", "ch_1"),
        ),
        (Answer(402, b"<html>"), Unknown("garbage", Then.REPEAT)),
        (Answer(402, body(["declined"])), Unknown("garbage", Then.REPEAT)),
        (Answer(400, body({"code": "bad_request"})), Failed("bad_request")),
        (Answer(422, body({"code": "invalid_field"})), Failed("invalid_field")),
        (Answer(422, b""), Failed("refused")),
        (Answer(422, body({"code": "key_mismatch"})), Unknown("provider_422", Then.WAIT)),
        (Answer(409, b""), Unknown("provider_409", Then.WAIT)),
        (Answer(429, b""), Unknown("provider_429", Then.WAIT)),
        (Answer(401, b""), Unknown("provider_401", Then.WAIT)),
        (Answer(302, b""), Unknown("provider_302", Then.WAIT)),
        (Answer(500, b""), Unknown("provider_500", Then.LOOK)),
        (Answer(503, b""), Unknown("provider_503", Then.LOOK)),
        (Answer(500, b"", replayed=True), Unknown("provider_500", Then.LOOK, spent=True)),
        (Answer(429, b"", replayed=True), Unknown("provider_429", Then.LOOK, spent=True)),
    ],
)
def test_an_answer_proves_this_much(answer: Answer | Lost, outcome: Outcome) -> None:
    assert classify(answer, CHARGE) == outcome


def refunded(**changes: object) -> bytes:
    return body({"id": "re_1", "charge": "ch_1", "amount_minor": 200} | changes)


@pytest.mark.parametrize(
    "operation, answer, outcome",
    [
        (AUTHORISING, Answer(201, body(shown("authorised"))), Authorised("ch_1")),
        (AUTHORISING, Answer(201, body(shown())), Captured("ch_1", 500)),
        (AUTHORISING, Answer(201, body(shown("pending"))), Unknown("pending", Then.LOOK)),
        (CAPTURE, Answer(200, body(shown(reference=None))), Captured("ch_1", 500)),
        (CAPTURE, Answer(200, body(shown("authorised"))), Unknown("authorised", Then.LOOK)),
        (CAPTURE, Answer(200, body(shown(id="ch_2"))), Unknown("another_charge", Then.WAIT)),
        (CAPTURE, Answer(200, body(shown(captured_minor=1))), Failed("captured_otherwise", "ch_1")),
        (
            CAPTURE,
            Answer(402, body({"charge": shown("declined")})),
            Failed("insufficient_funds", "ch_1"),
        ),
        (
            CAPTURE,
            Answer(409, body({"code": "illegal_transition"})),
            Unknown("illegal_transition", Then.LOOK, spent=True),
        ),
        (CAPTURE, Answer(409, body({"code": "key_in_flight"})), Unknown("provider_409", Then.WAIT)),
        (CAPTURE, Answer(404, b""), Unknown("provider_404", Then.LOOK, spent=True)),
        (CAPTURE, Answer(503, b""), Unknown("provider_503", Then.LOOK)),
        (REFUND, Answer(201, refunded()), Refunded("re_1", 200)),
        (REFUND, Answer(201, refunded(charge="ch_2")), Unknown("another_refund", Then.WAIT)),
        (REFUND, Answer(201, refunded(amount_minor=1)), Unknown("another_refund", Then.WAIT)),
        (REFUND, Answer(201, b"<html>"), Unknown("garbage", Then.REPEAT)),
        (
            REFUND,
            Answer(402, body({"code": "refund_declined"})),
            Unknown("refund_declined", Then.LOOK, spent=True),
        ),
        (
            REFUND,
            Answer(422, body({"code": "refund_exceeds_capture"})),
            Unknown("refund_exceeds_capture", Then.LOOK, spent=True),
        ),
        (REFUND, Answer(422, body({"code": "key_mismatch"})), Unknown("provider_422", Then.WAIT)),
    ],
)
def test_an_answer_proves_this_much_of_other_operations(
    operation: Operation, answer: Answer, outcome: Outcome
) -> None:
    assert classify(answer, operation) == outcome


@pytest.mark.parametrize(
    "operation, seen, outcome",
    [
        (CAPTURE, shown("authorised"), Absent()),
        (CAPTURE, shown(), Captured("ch_1", 500)),
        (CAPTURE, shown("cancelled"), Failed("cancelled", "ch_1")),
        (CAPTURE, shown(id="ch_2"), Unknown("no_such_charge", Then.WAIT)),
        (REFUND, shown(), Absent()),
        (REFUND, shown(refunded_minor=199), Absent()),
        (REFUND, shown(refunded_minor=200), Refunded(None, 200)),
        (REFUND, shown("refunded", refunded_minor=500), Refunded(None, 200)),
        (replace(REFUND, refunded_before_minor=100), shown(refunded_minor=200), Absent()),
        (REFUND, shown(id="ch_2"), Unknown("no_such_charge", Then.WAIT)),
    ],
)
def test_a_look_up_shows_what_became_of_a_change(
    operation: Operation, seen: object, outcome: Outcome | Absent
) -> None:
    assert found(Answer(200, body({"data": [seen]})), operation) == outcome


OTHERS = shown(id="ch_8", metadata={"charge_id": "pay_8"})


@pytest.mark.parametrize(
    "answer, outcome",
    [
        (Answer(200, body({"data": []})), Absent()),
        (Answer(200, body({"data": [OTHERS]})), Absent()),
        (Answer(200, body({"data": [OTHERS, shown()]})), Captured("ch_1", 500)),
        (Answer(200, body({"data": [shown("declined"), shown()]})), Captured("ch_1", 500)),
        (
            Answer(200, body({"data": [shown("declined")]})),
            Failed("insufficient_funds", "ch_1"),
        ),
        (Answer(200, body({"data": "none"})), Unknown("no_look_up", Then.WAIT)),
        (Answer(200, b"<html>"), Unknown("no_look_up", Then.WAIT)),
        (Answer(404, body({"data": []})), Unknown("no_look_up", Then.WAIT)),
        (Lost("timeout"), Unknown("no_look_up", Then.WAIT)),
    ],
)
def test_a_look_up_finds_our_own_charge_only(
    answer: Answer | Lost, outcome: Outcome | Absent
) -> None:
    assert found(answer, CHARGE) == outcome


ERROR = Unknown("provider_500", Then.LOOK)


@pytest.mark.parametrize(
    "outcome, look, known",
    [
        (ERROR, Captured("ch_1", 500), Captured("ch_1", 500)),
        (ERROR, Failed("declined"), Failed("declined")),
        (ERROR, Refunded(None, 200), Refunded(None, 200)),
        (ERROR, Authorised("ch_1"), Authorised("ch_1")),
        (ERROR, Unknown("pending", Then.LOOK), Unknown("pending", Then.WAIT)),
        (ERROR, Absent(), Unknown("provider_500", Then.REPEAT)),
        (replace(ERROR, spent=True), Absent(), Failed("provider_500")),
        (replace(ERROR, spent=True), Unknown("no_look_up", Then.WAIT), None),
    ],
)
def test_a_look_up_makes_an_error_definite_or_leaves_it_unknown(
    outcome: Unknown, look: Outcome | Absent, known: Outcome | None
) -> None:
    assert after_look(outcome, look) == (known or look)


def settled(outcome: Outcome) -> Operation:
    charge = decide(CHARGE, outcome).settled
    assert charge is not None
    return charge


SUCCEEDED = settled(Captured("ch_1", 500))
FAILED = settled(Failed("insufficient_funds", "ch_1"))


def test_a_capture_is_stored_answered_and_booked() -> None:
    decision = decide(CHARGE, Captured("ch_1", 500))

    assert decision == Decision(SUCCEEDED, Entry("charge", 500))
    assert (SUCCEEDED.status, SUCCEEDED.provider_charge) == ("succeeded", "ch_1")
    assert SUCCEEDED.reply is not None
    assert SUCCEEDED.reply.status == 201
    assert repr(SUCCEEDED) == "<Operation charge pay_1 succeeded 500 EUR minor>"


def test_a_failure_is_stored_and_answered_and_not_booked() -> None:
    assert decide(CHARGE, Failed("insufficient_funds", "ch_1")) == Decision(FAILED)
    assert (FAILED.status, FAILED.failure) == ("failed", "insufficient_funds")
    assert FAILED.reply is not None
    assert FAILED.reply.status == 402


@pytest.mark.parametrize("charge", [CHARGE, SUCCEEDED, FAILED])
def test_an_unknown_outcome_decides_nothing(charge: Operation) -> None:
    assert decide(charge, Unknown("timeout", Then.WAIT)) == Decision()


@pytest.mark.parametrize("charge", [SUCCEEDED, FAILED])
def test_a_late_failure_changes_nothing(charge: Operation) -> None:
    assert decide(charge, Failed("cancelled")) == Decision()


def test_a_capture_learnt_of_again_is_booked_again_and_left_to_the_constraint() -> None:
    assert decide(SUCCEEDED, Captured("ch_1", 500)) == Decision(entry=Entry("charge", 500))


def test_a_second_real_charge_is_an_alarm_and_no_credit() -> None:
    assert decide(SUCCEEDED, Captured("ch_2", 500)) == Decision(
        alarm="a second real charge for one key"
    )


def test_money_taken_after_a_failure_is_believed_and_an_alarm() -> None:
    decision = decide(FAILED, Captured("ch_1", 500))

    assert decision.settled == SUCCEEDED
    assert decision.entry == Entry("charge", 500)
    assert decision.alarm == "a charge recorded as failed took money"


AUTHORISED = decide(AUTHORISING, Authorised("ch_1")).settled or AUTHORISING


def test_an_authorised_charge_is_answered_and_not_booked() -> None:
    decision = decide(AUTHORISING, Authorised("ch_1"))

    assert decision == Decision(AUTHORISED)
    assert (AUTHORISED.status, AUTHORISED.provider_charge) == ("authorised", "ch_1")
    assert AUTHORISED.reply is not None
    assert AUTHORISED.reply.status == 201


def test_an_authorised_charge_that_is_captured_keeps_its_answer() -> None:
    decision = decide(AUTHORISED, Captured("ch_1", 300))

    assert decision.settled is not None
    assert (decision.settled.status, decision.settled.captured_minor) == ("succeeded", 300)
    assert decision.settled.reply == AUTHORISED.reply
    assert decision.entry == Entry("charge", 300)


def test_an_authorised_charge_that_is_cancelled_has_failed() -> None:
    decision = decide(AUTHORISED, Failed("cancelled"))

    assert decision.settled is not None
    assert (decision.settled.status, decision.settled.provider_charge) == ("failed", "ch_1")


@pytest.mark.parametrize("charge", [AUTHORISED, SUCCEEDED, FAILED])
def test_a_late_authorisation_changes_nothing(charge: Operation) -> None:
    assert decide(charge, Authorised("ch_1")) == Decision()


def test_a_capture_settles_itself_and_its_charge() -> None:
    both = decide_change(CAPTURE, AUTHORISED, Captured("ch_1", 500))

    assert both.change.settled is not None
    assert (both.change.settled.status, both.change.entry) == ("succeeded", None)
    assert both.charge == decide(AUTHORISED, Captured("ch_1", 500))
    assert both.given_up_minor == 0


@pytest.mark.parametrize("refund, entry", [("re_1", Entry("refund", 200, "re_1")), (None, None)])
def test_a_refund_is_booked_to_its_charge_once_it_has_a_name(
    refund: str | None, entry: Entry | None
) -> None:
    both = decide_change(REFUND, SUCCEEDED, Refunded(refund, 200))

    assert both.change.settled is not None
    assert both.change.settled.provider_refund == refund
    assert both.charge == Decision(entry=entry)


@pytest.mark.parametrize("change, given_up_minor", [(REFUND, 200), (CAPTURE, 0)])
def test_a_change_that_failed_gives_up_what_was_set_aside(
    change: Operation, given_up_minor: int
) -> None:
    both = decide_change(change, SUCCEEDED, Failed("refused"))

    assert both.change.settled is not None
    assert both.change.settled.reply is not None
    assert (both.change.settled.status, both.change.settled.reply.status) == ("failed", 402)
    assert both.charge == Decision()
    assert both.given_up_minor == given_up_minor


def test_an_unknown_outcome_of_a_change_decides_nothing() -> None:
    assert decide_change(REFUND, SUCCEEDED, Unknown("timeout", Then.WAIT)) == Both(Decision())


def test_a_refund_is_never_decided_without_its_charge() -> None:
    with pytest.raises(AssertionError):
        decide(SUCCEEDED, Refunded("re_1", 200))


@pytest.mark.parametrize(
    "change, charge, code",
    [
        (Change("capture", "pay_1"), AUTHORISED, None),
        (Change("capture", "pay_1", 500), AUTHORISED, None),
        (Change("capture", "pay_1", 501), AUTHORISED, "exceeds"),
        (Change("capture", "pay_1"), SUCCEEDED, "not_possible"),
        (Change("capture", "pay_1"), CHARGE, "charge_in_flight"),
        (Change("refund", "pay_1", 9_999), SUCCEEDED, None),  # that is the constraint's business
        (Change("refund", "pay_1"), AUTHORISED, "not_possible"),
        (Change("refund", "pay_1"), FAILED, "not_possible"),
        (Change("refund", "pay_1"), CHARGE, "charge_in_flight"),
    ],
)
def test_a_charge_shows_whether_it_can_be_changed(
    change: Change, charge: Operation, code: str | None
) -> None:
    refused = refusal(change, charge)

    assert (None if refused is None else refused.code) == code


def test_a_fingerprint_covers_every_field_of_the_intent() -> None:
    intent = CHARGE.intent
    others = [
        replace(intent, order="x"),
        replace(intent, amount_minor=1),
        replace(intent, currency="USD"),
        replace(intent, customer="x"),
        replace(intent, capture=False),
    ]
    changes = [
        Change("refund", "a"),
        Change("refund", "a", 1),
        Change("refund", "b"),
        Change("capture", "a"),
    ]

    fingerprints = [each.fingerprint() for each in (intent, *others)]
    fingerprints += [each.fingerprint() for each in changes]
    assert len(set(fingerprints)) == 10
