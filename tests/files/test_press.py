"""One press of *Pay*: every driver writes the same two records."""

from typing import Any

import pytest

from onecharge.history.outcomes import REFUSED
from onecharge.press import Heard, Order, completion, invocation, prepared
from onecharge.service_file import Charge

CHARGE = Charge.model_validate(
    {
        "path": "/charges?c={customer}",
        "headers": {"Idempotency-Key": "{key}"},
        "json": {"amount": "{amount_minor}", "order": "{order}"},
        "answer": {"provider_charge": "$.provider"},
    }
)


@pytest.fixture
def order() -> Order:
    return Order(1, "ord-1", "key-1", 1001, "EUR", "cus-1", "shop", "token")


def answered(order: Order, heard: Heard) -> dict[str, Any]:
    return {**completion("client:1", order, CHARGE.answer, heard, 0).value}


def test_a_request_is_made_from_its_template(order: Order) -> None:
    request = prepared(CHARGE, order.values())
    assert (request.method, request.path) == ("POST", "/charges?c=cus-1")
    assert request.headers == {"Idempotency-Key": "key-1", "Content-Type": "application/json"}
    assert request.body == '{"amount": 1001, "order": "ord-1"}'


def test_attempts_of_one_order_are_counted_over_all_its_lanes(order: Order) -> None:
    entries = [invocation(f"client:{n}", order, "url") for n in (1, 2)]
    assert [entry.value["attempt"] for entry in entries] == [1, 2]
    assert {(entry.kind, entry.order, entry.key) for entry in entries} == {
        ("invoke", "ord-1", "key-1")
    }


def test_a_success_settles_the_order_and_names_both_charges(order: Order) -> None:
    text = '{"status": "succeeded", "id": "c-1", "provider": "ch_1"}'
    value = answered(order, Heard(201, text))
    assert (value["outcome"], value["charge"], value["provider_charge"]) == ("ok", "c-1", "ch_1")
    assert order.settled
    assert order.charge == "c-1"


def test_what_settled_an_order_is_not_unsettled_by_a_later_answer(order: Order) -> None:
    answered(order, Heard(201, '{"status": "succeeded", "id": "c-1"}'))
    answered(order, Heard(409, "{}"))
    assert (order.outcome, order.charge) == ("ok", "c-1")


@pytest.mark.parametrize(
    "heard, outcome, kind",
    [
        (Heard(error="no answer within 1 s"), "unknown", "unknown"),
        (Heard(error=REFUSED), "refused", "fail"),
        (Heard(200, '{"status": "succee'), "unknown", "unknown"),
        (Heard(202, '{"status": "processing"}'), "pending", "ok"),
        (Heard(402, '{"status": "failed"}'), "declined", "fail"),
        (Heard(503, "", retry_after=True), "retry_later", "fail"),
        (Heard(503, ""), "unknown", "unknown"),
        (Heard(200, "[1, 2]"), "unknown", "unknown"),
    ],
)
def test_answers_are_understood_by_what_they_allow_to_conclude(
    order: Order, heard: Heard, outcome: str, kind: str
) -> None:
    entry = completion("client:1", order, CHARGE.answer, heard, cause=7)
    assert (entry.value["outcome"], entry.kind, entry.cause) == (outcome, kind, 7)


def test_long_answers_are_kept_as_an_excerpt(order: Order) -> None:
    assert len(answered(order, Heard(500, "x" * 10_000))["body"]) == 500


def test_an_answer_is_kept_without_the_card_number_in_it(order: Order) -> None:
    value = answered(order, Heard(201, '{"status": "succeeded", "pan": "4539 5787 6362 1486"}'))
    assert value["body"] == '{"status": "succeeded", "pan": "[card number removed]"}'
