"""Payment intents: created, confirmed, captured, canceled, declined, settled later."""

from typing import Any

import pytest

from simulator.core.intents import TRANSITIONS, IllegalStep, Intent, IntentStatus, Step


def intent(status: IntentStatus) -> Intent:
    return Intent("pi_1", "sk_test_shop", 500, "USD", None, None, capture=True, status=status)


@pytest.mark.parametrize("status", IntentStatus)
@pytest.mark.parametrize("step", Step)
def test_every_step_is_a_row_of_the_table_or_illegal(status: IntentStatus, step: Step) -> None:
    if (status, step) in TRANSITIONS:
        assert intent(status).after(step) is TRANSITIONS[status, step]
    else:
        with pytest.raises(IllegalStep, match=f"an intent that is {status}"):
            intent(status).after(step)


def test_an_intent_says_what_it_is() -> None:
    assert repr(intent(IntentStatus.PROCESSING)) == "<Intent pi_1 processing 500 USD>"


def test_nothing_leads_out_of_success_or_cancellation() -> None:
    ends = {IntentStatus.SUCCEEDED, IntentStatus.CANCELED}

    assert not [status for status, _ in TRANSITIONS if status in ends]
    assert {status for status, _ in TRANSITIONS} == set(IntentStatus) - ends


def test_an_intent_that_is_created_and_confirmed_has_taken_the_money(merchant: Any) -> None:
    paid = merchant.pay()

    assert paid.status == 200
    assert paid.data["status"] == "succeeded"
    assert paid.data["amount_received"] == 500
    assert paid.data["latest_charge"] == "ch_1"
    assert paid.data["metadata"] == {"order_id": "ord-1"}
    assert paid.data["payment_method"].startswith("pm_")
    assert merchant.captured() == [500]
    assert merchant.event_types() == [
        "payment_intent.created",
        "payment_intent.succeeded",
        "charge.succeeded",
    ]


def test_an_order_named_elsewhere_is_written_down_for_whoever_looks_for_it(merchant: Any) -> None:
    merchant.pay(metadata={"cart": "A7"}, description="your order A7")

    [capture] = merchant.entries("charge.captured")
    assert capture.value["reference"] is None
    assert capture.value["mentions"] == ["A7", "your order A7"]


def test_the_merchants_order_is_planted(merchant: Any) -> None:
    merchant.pay(metadata={"reference": "A7"})

    [capture] = merchant.entries("charge.captured")
    assert (capture.order, capture.value["reference"]) == ("A7", "A7")
    assert capture.value["operation"] == "charge.create"


@pytest.mark.parametrize(
    "metadata,order",
    [
        ({"order_id": "A1", "order": "B1"}, "A1"),
        ({"order": "B1"}, "B1"),
        ({"other": "C1"}, None),
        ({"order_id": "line\nbreak"}, None),
    ],
)
def test_an_order_is_read_from_the_metadata(merchant: Any, metadata: Any, order: Any) -> None:
    merchant.pay(metadata=metadata)

    assert merchant.provider.charges["ch_1"].reference == order


def test_an_intent_moves_no_money_before_it_is_confirmed(merchant: Any) -> None:
    made = merchant.post("payment_intents", {"amount": 500, "currency": "eur"}).data

    assert made["status"] == "requires_payment_method"
    assert merchant.captured() == []
    [receipt] = [e for e in merchant.entries("call") if e.kind == "receive"]
    assert receipt.value["operation"] == "intent.create"

    confirmed = merchant.post(
        f"payment_intents/{made['id']}/confirm", {"payment_method": "pm_card_visa"}
    ).data
    assert confirmed["status"] == "succeeded"
    assert merchant.captured() == [500]


def test_an_intent_with_a_method_waits_for_its_confirmation(merchant: Any) -> None:
    made = merchant.post(
        "payment_intents", {"amount": 500, "currency": "eur", "payment_method": "pm_card_amex"}
    ).data

    assert made["status"] == "requires_confirmation"
    assert merchant.post(f"payment_intents/{made['id']}/confirm").data["status"] == "succeeded"


def test_without_a_method_there_is_nothing_to_confirm_with(merchant: Any) -> None:
    made = merchant.post("payment_intents", {"amount": 500, "currency": "eur"}).data

    refused = merchant.post(f"payment_intents/{made['id']}/confirm")

    assert (refused.status, refused.error["code"]) == (400, "payment_intent_unexpected_state")
    assert refused.error["payment_intent"]["id"] == made["id"]
    at_once = {"amount": 500, "currency": "eur", "confirm": "true"}
    again = merchant.post("payment_intents", at_once)
    assert again.error["code"] == "payment_intent_unexpected_state"
    assert len(merchant.get("payment_intents").data["data"]) == 1


@pytest.mark.parametrize(
    "method,code,decline_code",
    [
        ("pm_card_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_visa_chargeDeclined", "card_declined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
        ("pm_card_chargeDeclinedExpiredCard", "expired_card", "expired_card"),
        ("pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc"),
        ("pm_card_chargeDeclinedProcessingError", "processing_error", "processing_error"),
        ("pm_card_authenticationRequired", "authentication_required", "authentication_required"),
    ],
)
def test_a_decline_is_402_and_leaves_the_intent_open(
    merchant: Any, method: str, code: str, decline_code: str
) -> None:
    declined = merchant.pay(method)

    assert declined.status == 402
    error = declined.error
    assert (error["type"], error["code"], error["decline_code"]) == (
        "card_error",
        code,
        decline_code,
    )
    assert error["charge"] == "ch_1"
    assert error["payment_intent"]["status"] == "requires_payment_method"
    assert error["payment_intent"]["last_payment_error"]["decline_code"] == decline_code
    assert merchant.captured() == []
    assert merchant.event_types()[1:] == ["payment_intent.payment_failed", "charge.failed"]
    charge = merchant.get("charges/ch_1").data
    assert (charge["status"], charge["paid"], charge["failure_code"]) == ("failed", False, code)


def test_a_declined_intent_is_paid_by_a_better_card(merchant: Any) -> None:
    intent_id = merchant.pay("pm_card_chargeDeclined").error["payment_intent"]["id"]

    paid = merchant.post(
        f"payment_intents/{intent_id}/confirm", {"payment_method": "pm_card_visa"}
    ).data

    assert (paid["status"], paid["latest_charge"]) == ("succeeded", "ch_2")
    assert paid["last_payment_error"] is None
    assert merchant.captured() == [500]


def test_a_succeeded_intent_cannot_be_confirmed_again(merchant: Any) -> None:
    intent_id = merchant.pay().data["id"]

    again = merchant.post(f"payment_intents/{intent_id}/confirm")

    assert again.error["code"] == "payment_intent_unexpected_state"
    assert merchant.captured() == [500]


def test_money_on_hold_is_captured(merchant: Any) -> None:
    held = merchant.hold()
    assert (held["status"], held["amount_capturable"]) == ("requires_capture", 500)
    assert merchant.captured() == []

    taken = merchant.post(f"payment_intents/{held['id']}/capture").data

    assert (taken["status"], taken["amount_received"]) == ("succeeded", 500)
    assert merchant.captured() == [500]
    assert merchant.event_types() == [
        "payment_intent.created",
        "payment_intent.amount_capturable_updated",
        "charge.succeeded",
        "payment_intent.succeeded",
        "charge.captured",
    ]


def test_a_part_of_it_is_captured_and_the_rest_given_up(merchant: Any) -> None:
    held = merchant.hold()

    taken = merchant.post(
        f"payment_intents/{held['id']}/capture",
        {"amount_to_capture": 200, "metadata": {"note": "two of five"}},
    ).data

    assert (taken["amount"], taken["amount_received"]) == (500, 200)
    assert taken["metadata"] == {"order_id": "ord-1", "note": "two of five"}
    assert merchant.captured() == [200]


def test_more_than_is_on_hold_cannot_be_captured(merchant: Any) -> None:
    held = merchant.hold()

    refused = merchant.post(f"payment_intents/{held['id']}/capture", {"amount_to_capture": 501})

    assert (refused.status, refused.error["code"]) == (400, "amount_too_large")
    assert refused.error["param"] == "amount_to_capture"
    assert merchant.captured() == []


def test_an_intent_that_holds_nothing_cannot_be_captured(merchant: Any) -> None:
    paid = merchant.pay().data

    refused = merchant.post(f"payment_intents/{paid['id']}/capture")

    assert refused.error["code"] == "payment_intent_unexpected_state"


def test_an_intent_is_canceled_and_its_hold_let_go(merchant: Any) -> None:
    held = merchant.hold()

    gone = merchant.post(
        f"payment_intents/{held['id']}/cancel", {"cancellation_reason": "abandoned"}
    ).data

    assert (gone["status"], gone["cancellation_reason"]) == ("canceled", "abandoned")
    assert gone["canceled_at"] is not None
    assert merchant.event_types()[-2:] == ["payment_intent.canceled", "charge.expired"]
    assert merchant.entries("charge.cancelled")
    again = merchant.post(f"payment_intents/{held['id']}/cancel")
    assert again.error["code"] == "payment_intent_unexpected_state"


def test_an_intent_without_a_charge_is_canceled(merchant: Any) -> None:
    made = merchant.post("payment_intents", {"amount": 500, "currency": "eur"}).data

    gone = merchant.post(f"payment_intents/{made['id']}/cancel").data

    assert gone["status"] == "canceled"
    assert merchant.event_types() == ["payment_intent.created", "payment_intent.canceled"]


def test_an_open_intent_can_be_changed(merchant: Any) -> None:
    customer = merchant.post("customers", {"email": "a@b.test"}).data["id"]
    made = merchant.post(
        "payment_intents",
        {"amount": 500, "currency": "eur", "metadata": {"a": "1", "b": "2"}},
    ).data

    changed = merchant.post(
        f"payment_intents/{made['id']}",
        {
            "amount": 700,
            "currency": "usd",
            "customer": customer,
            "capture_method": "manual",
            "payment_method": "pm_card_visa",
            "description": "seven",
            "metadata": {"a": "", "order_id": "A9"},
        },
    ).data

    assert (changed["amount"], changed["currency"], changed["customer"]) == (700, "usd", customer)
    assert changed["metadata"] == {"b": "2", "order_id": "A9"}
    assert changed["status"] == "requires_confirmation"
    assert (changed["description"], changed["capture_method"]) == ("seven", "manual")
    held = merchant.post(f"payment_intents/{made['id']}/confirm").data
    assert held["status"] == "requires_capture"
    assert merchant.provider.charges["ch_1"].reference == "A9"


def test_of_a_paid_intent_only_the_words_can_be_changed(merchant: Any) -> None:
    paid = merchant.pay().data

    words = merchant.post(f"payment_intents/{paid['id']}", {"metadata": "", "description": "x"})
    weighty = merchant.post(f"payment_intents/{paid['id']}", {"amount": 900})

    assert words.data["metadata"] == {}
    assert weighty.error["code"] == "payment_intent_unexpected_state"


def test_confirming_may_say_that_the_money_is_only_to_be_held(merchant: Any) -> None:
    made = merchant.post(
        "payment_intents", {"amount": 500, "currency": "eur", "payment_method": "pm_card_visa"}
    ).data

    held = merchant.post(
        f"payment_intents/{made['id']}/confirm",
        {"capture_method": "manual", "return_url": "https://shop.test/back"},
    ).data

    assert held["status"] == "requires_capture"


def test_a_bank_account_is_debited_later(merchant: Any) -> None:
    paid = merchant.pay("pm_usBankAccount_success", key="k1").data
    assert paid["status"] == "processing"
    assert merchant.captured() == []
    assert merchant.get("charges/ch_1").data["status"] == "pending"

    merchant.later(3_600)

    assert merchant.get(f"payment_intents/{paid['id']}").data["status"] == "succeeded"
    assert merchant.captured() == [500]
    assert merchant.event_types() == [
        "payment_intent.created",
        "payment_intent.processing",
        "charge.pending",
        "payment_intent.succeeded",
        "charge.succeeded",
    ]
    events = merchant.get("events", {"limit": 5}).data["data"]
    assert events[0]["request"] == {"id": None, "idempotency_key": None}
    assert events[4]["request"] == {"id": "req_1", "idempotency_key": "k1"}


def test_a_bank_account_may_refuse_later(merchant: Any) -> None:
    paid = merchant.pay("pm_usBankAccount_insufficientFunds").data
    refused = merchant.post(f"payment_intents/{paid['id']}/cancel")
    assert refused.error["code"] == "payment_intent_unexpected_state"

    merchant.later(3_600)

    failed = merchant.get(f"payment_intents/{paid['id']}").data
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["code"] == "insufficient_funds"
    assert merchant.captured() == []


def test_an_amount_below_what_the_currency_demands_is_refused(merchant: Any) -> None:
    refused = merchant.pay(amount=49)

    assert (refused.status, refused.error["code"]) == (400, "amount_too_small")
    assert merchant.pay(amount=1, currency="chf").status == 200


def test_intents_are_listed_newest_first_and_page_by_page(merchant: Any) -> None:
    ids = [merchant.pay(metadata={"order_id": f"o{n}"}).data["id"] for n in range(5)]

    first = merchant.get("payment_intents", {"limit": 2}).data
    second = merchant.get(
        "payment_intents", {"limit": 2, "starting_after": first["data"][-1]["id"]}
    )
    back = merchant.get("payment_intents", {"limit": 2, "ending_before": ids[1]}).data

    assert first["object"] == "list"
    assert first["url"] == "/v1/payment_intents"
    assert [each["id"] for each in first["data"]] == [ids[4], ids[3]]
    assert first["has_more"]
    assert [each["id"] for each in second.data["data"]] == [ids[2], ids[1]]
    assert [each["id"] for each in back["data"]] == [ids[3], ids[2]]
    assert back["has_more"]
    last = merchant.get("payment_intents", {"limit": 2, "starting_after": ids[1]}).data
    assert [each["id"] for each in last["data"]] == [ids[0]]
    assert not last["has_more"]


def test_intents_are_listed_by_customer_and_by_time(merchant: Any) -> None:
    customer = merchant.post("customers").data["id"]
    mine = merchant.pay(customer=customer).data
    merchant.now = 100.0
    late = merchant.pay().data
    created = late["created"]

    def ids(**wanted: Any) -> list[str]:
        return [each["id"] for each in merchant.get("payment_intents", wanted).data["data"]]

    assert ids(customer=customer) == [mine["id"]]
    assert ids(created=created) == [late["id"]]
    assert ids(created={"gte": created}) == [late["id"]]
    assert ids(created={"gt": created}) == []
    assert ids(created={"lt": created}) == [mine["id"]]
    assert ids(created={"lte": created}) == [late["id"], mine["id"]]


def test_a_foreign_intent_is_an_absent_intent(merchant: Any) -> None:
    intent_id = merchant.pay().data["id"]

    seen = merchant.stranger().get(f"payment_intents/{intent_id}")

    assert (seen.status, seen.error["code"]) == (404, "resource_missing")
    assert merchant.stranger().get("payment_intents").data["data"] == []
    assert merchant.stranger().get("charges/ch_1").status == 404


def test_what_is_expanded_is_shown_in_full(merchant: Any) -> None:
    customer = merchant.post("customers", {"name": "Ada"}).data["id"]
    paid = merchant.pay(
        customer=customer, expand=["latest_charge.customer", "payment_method", "review", "review.x"]
    ).data

    assert paid["latest_charge"]["id"] == "ch_1"
    assert paid["latest_charge"]["customer"]["name"] == "Ada"
    assert paid["payment_method"]["card"]["last4"] == "4242"
    assert paid["review"] is None
    listed = merchant.get(
        "payment_intents", {"expand": ["data.customer", "has_more", "data.payment_method.customer"]}
    ).data
    assert listed["data"][0]["customer"]["name"] == "Ada"
    charge = merchant.get("charges/ch_1", {"expand": ["payment_intent", "nonsense"]}).data
    assert charge["payment_intent"]["id"] == paid["id"]


def test_an_id_of_nothing_stays_an_id_when_expanded(merchant: Any) -> None:
    paid = merchant.pay(description="pi_404", expand=["description"]).data

    assert paid["description"] == "pi_404"
