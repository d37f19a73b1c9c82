"""What an answer proves, case by case: the tables of ``outcomes.py`` and ``decisions.py``."""

import json
from dataclasses import replace

import pytest

from reference_impl.charge import Charge, Intent
from reference_impl.decisions import Decision, Entry, decide
from reference_impl.outcomes import (
    Absent,
    Answer,
    Captured,
    Failed,
    Lost,
    Outcome,
    Then,
    Unknown,
    after_look,
    classify,
    found,
)

CHARGE = Charge(
    id="pay_1",
    tenant="shop",
    intent=Intent("ord-1", 500, "EUR", "cus-1"),
    fingerprint="f",
    upstream_key="charge-pay_1",
    lease_token=1,
    status="in_flight",
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
        (ERROR, Unknown("pending", Then.LOOK), Unknown("pending", Then.WAIT)),
        (ERROR, Absent(), Unknown("provider_500", Then.REPEAT)),
        (replace(ERROR, spent=True), Absent(), Failed("provider_error")),
        (replace(ERROR, spent=True), Unknown("no_look_up", Then.WAIT), None),
    ],
)
def test_a_look_up_makes_an_error_definite_or_leaves_it_unknown(
    outcome: Unknown, look: Outcome | Absent, known: Outcome | None
) -> None:
    assert after_look(outcome, look) == (known or look)


def settled(outcome: Outcome) -> Charge:
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
    assert repr(SUCCEEDED) == "<Charge pay_1 succeeded 500 EUR minor>"


def test_a_failure_is_stored_and_answered_and_not_booked() -> None:
    assert decide(CHARGE, Failed("insufficient_funds", "ch_1")) == Decision(FAILED)
    assert (FAILED.status, FAILED.failure) == ("failed", "insufficient_funds")
    assert FAILED.reply is not None
    assert FAILED.reply.status == 402


@pytest.mark.parametrize("charge", [CHARGE, SUCCEEDED, FAILED])
def test_an_unknown_outcome_decides_nothing(charge: Charge) -> None:
    assert decide(charge, Unknown("timeout", Then.WAIT)) == Decision()


@pytest.mark.parametrize("charge", [SUCCEEDED, FAILED])
def test_a_late_failure_changes_nothing(charge: Charge) -> None:
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
