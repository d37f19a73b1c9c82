"""What Stripe promises about idempotency keys: what is stored, what is not, and who gets what."""

from typing import Any

import pytest

from simulator.catalogue import rule_from
from simulator.core.messages import Drop, Held, Reply
from simulator.dialects.stripe import Stripe


def rule(fault: str, **table: object) -> Any:
    return rule_from({"fault": fault, "operation": "charge.create", **table})


def test_the_same_request_is_replayed(merchant: Any) -> None:
    first = merchant.pay(key="k1")
    second = merchant.pay(key="k1")

    assert second.data == first.data
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert second.headers["request-id"] != first.headers["request-id"]
    assert second.headers["idempotency-key"] == "k1"
    assert merchant.captured() == [500]


def test_the_order_of_the_parameters_does_not_matter(merchant: Any) -> None:
    wish = {"amount": 500, "currency": "usd", "confirm": "true", "payment_method": "pm_card_visa"}

    merchant.post("payment_intents", wish, key="k1")
    again = merchant.post("payment_intents", dict(reversed(wish.items())), key="k1")

    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize("change", [{"amount": 501}, {"return_url": "https://shop.test"}])
def test_other_parameters_under_one_key_are_refused(merchant: Any, change: Any) -> None:
    merchant.pay(key="k1")

    refused = merchant.pay(key="k1", **change)

    assert (refused.status, refused.error["type"]) == (400, "idempotency_error")
    assert refused.headers["stripe-should-retry"] == "false"
    assert merchant.captured() == [500]


def test_another_endpoint_under_one_key_is_refused(merchant: Any) -> None:
    merchant.post("customers", key="k1")

    assert merchant.post("refunds", {"charge": "ch_1"}, key="k1").error["type"] == (
        "idempotency_error"
    )


def test_a_request_in_flight_is_in_use(shop: Any) -> None:
    merchant = shop(rule("hold", times=1, seam="before_commit"))
    held = merchant.act("POST", "payment_intents", {**WISH}, key="k1")
    assert isinstance(held, Held)

    busy = merchant.post("payment_intents", {**WISH}, key="k1")

    assert (busy.status, busy.error["code"]) == (409, "idempotency_key_in_use")
    assert busy.headers["stripe-should-retry"] == "true"
    merchant.provider.resume(held.call, 0.0)
    assert merchant.post("payment_intents", {**WISH}, key="k1").data["status"] == "succeeded"
    assert merchant.captured() == [500]


WISH = {"amount": 500, "currency": "usd", "confirm": "true", "payment_method": "pm_card_visa"}


def test_a_decline_is_replayed(merchant: Any) -> None:
    first = merchant.pay("pm_card_chargeDeclined", key="k1")
    second = merchant.pay("pm_card_chargeDeclined", key="k1")

    assert (second.status, second.data) == (402, first.data)
    assert second.headers["idempotent-replayed"] == "true"


def test_a_refusal_from_inside_is_replayed(merchant: Any) -> None:
    first = merchant.post("refunds", {"charge": "ch_404"}, key="k1")
    second = merchant.post("refunds", {"charge": "ch_404"}, key="k1")

    assert (first.status, second.headers["idempotent-replayed"]) == (404, "true")


def test_a_500_is_stored_whether_or_not_it_happened(shop: Any) -> None:
    merchant = shop(rule("error_after_commit", times=1))

    first = merchant.pay(key="k1")
    second = merchant.pay(key="k1")

    assert (first.status, first.error["type"]) == (500, "api_error")
    assert (second.status, second.data) == (500, first.data)
    assert second.headers["idempotent-replayed"] == "true"
    assert merchant.captured() == [500]


@pytest.mark.parametrize(
    "mistake", [{"amount": "much"}, {"no_such_thing": 1}, {"currency": "nothing"}]
)
def test_a_refusal_before_execution_leaves_the_key_free(merchant: Any, mistake: Any) -> None:
    assert merchant.pay(key="k1", **mistake).status == 400

    assert merchant.pay(key="k1").status == 200


def test_too_many_requests_leave_the_key_free(shop: Any) -> None:
    merchant = shop(rule("rate_limit", times=1))

    limited = merchant.pay(key="k1")

    assert (limited.status, limited.error["code"]) == (429, "rate_limit")
    assert limited.headers["retry-after"] == "1"
    assert merchant.pay(key="k1").status == 200


def test_who_is_not_known_leaves_the_key_free(merchant: Any) -> None:
    merchant.api_key = "sk_live_oh_no"
    assert merchant.pay(key="k1").status == 401

    merchant.api_key = "sk_test_shop"
    assert merchant.pay(key="k1").status == 200


def test_a_key_is_forgotten_after_a_day(merchant: Any) -> None:
    merchant.pay(key="k1")
    merchant.later(86_399)
    assert merchant.pay(key="k1").headers["idempotent-replayed"] == "true"

    merchant.later(1)
    merchant.pay(key="k1")

    assert merchant.captured() == [500, 500]


def test_accounts_have_keys_of_their_own(merchant: Any) -> None:
    merchant.pay(key="k1")
    merchant.stranger().pay(key="k1")

    assert merchant.captured() == [500, 500]


def test_without_a_key_everything_is_done_again(merchant: Any) -> None:
    merchant.pay()
    merchant.pay()

    assert merchant.captured() == [500, 500]


def test_a_key_too_long_is_refused_and_written_down_nowhere(merchant: Any) -> None:
    refused = merchant.pay(key="k" * 256)
    refused_too = merchant.pay(key="k" * 256, amount="x")

    assert (refused.status, refused_too.status) == (400, 400)
    assert {entry.key for entry in merchant.journal.entries} == {None}


def test_keys_mean_nothing_where_nothing_is_made(merchant: Any) -> None:
    customer = merchant.post("customers", key="k1").data["id"]

    gone = merchant.call("DELETE", f"customers/{customer}", key="k1")

    assert gone.data == {"id": customer, "object": "customer", "deleted": True}


def test_every_post_heeds_its_key() -> None:
    assert {"charge.create", "charge.capture", "charge.refund", "intent.create"} <= (
        Stripe.keys.heeded_for
    )
    assert not {"charge.read", "charge.list", "customer.delete"} & Stripe.keys.heeded_for


def test_a_reply_is_lost_and_the_retry_learns_of_the_charge(shop: Any) -> None:
    merchant = shop(rule("lose_reply", times=1))
    lost = merchant.act("POST", "payment_intents", WISH, key="k1")
    assert isinstance(lost, Drop)

    again = merchant.post("payment_intents", WISH, key="k1")

    assert again.data["status"] == "succeeded"
    assert merchant.captured() == [500]


def test_half_an_answer_has_all_its_headers(shop: Any) -> None:
    merchant = shop(rule("cut_reply"))

    cut = merchant.act("POST", "payment_intents", WISH, key="k1")

    assert isinstance(cut, Drop)
    assert cut.reply is not None
    assert ("request-id", "req_1") in cut.reply.headers


@pytest.mark.parametrize(
    "fault,status,type_",
    [
        ({"status": 503, "code": "unavailable"}, 503, "api_error"),
        ({"status": 502, "code": "bad_gateway"}, 502, "api_error"),
        ({"status": 418, "code": "teapot"}, 418, "invalid_request_error"),
    ],
)
def test_what_a_fault_invents_has_the_providers_shape(
    shop: Any, fault: Any, status: int, type_: str
) -> None:
    merchant = shop(rule("error_before_commit", **fault))

    answer = merchant.pay()

    assert (answer.status, answer.error["type"]) == (status, type_)
    assert merchant.captured() == []


@pytest.mark.parametrize(
    "operation,made,status",
    [
        ("charge.create", None, 402),
        ("charge.capture", "capture", 402),
        ("charge.cancel", "cancel", 402),
    ],
)
def test_the_bank_declines_on_demand(shop: Any, operation: str, made: str, status: int) -> None:
    merchant = shop(rule_from({"fault": "decline", "operation": operation}))

    if made is None:
        answer = merchant.pay()
    else:
        answer = merchant.post(f"payment_intents/{merchant.hold()['id']}/{made}")

    assert (answer.status, answer.error["type"]) == (status, "card_error")
    assert answer.error["code"] == "card_declined"
    assert merchant.captured() == []


def test_the_bank_declines_a_refund_on_demand(shop: Any) -> None:
    merchant = shop(rule_from({"fault": "decline", "operation": "charge.refund"}))
    merchant.pay()

    assert merchant.post("refunds", {"charge": "ch_1"}).status == 402


def test_the_answer_of_a_held_call_is_marked_as_well(shop: Any) -> None:
    merchant = shop(rule("hold", seam="after_commit"))
    held = merchant.act("POST", "payment_intents", WISH, key="k1")

    [after] = merchant.provider.resume(held.call, 0.0)

    assert isinstance(after, Reply)
    assert ("request-id", "req_1") in after.reply.headers
