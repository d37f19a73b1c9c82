"""Charges as they are read, and the refunds that give their money back."""

from typing import Any


def test_a_charge_knows_its_intent_and_its_card(merchant: Any) -> None:
    paid = merchant.pay("pm_card_mastercard", description="tea").data

    charge = merchant.get("charges/ch_1").data

    assert (charge["object"], charge["payment_intent"]) == ("charge", paid["id"])
    assert (charge["status"], charge["captured"], charge["paid"]) == ("succeeded", True, True)
    assert charge["payment_method_details"]["card"]["brand"] == "mastercard"
    assert (charge["description"], charge["metadata"]) == ("tea", {"order_id": "ord-1"})


def test_charges_are_listed_by_intent(merchant: Any) -> None:
    declined = merchant.pay("pm_card_chargeDeclined").error["payment_intent"]["id"]
    merchant.pay()
    merchant.post(f"payment_intents/{declined}/confirm", {"payment_method": "pm_card_visa"})

    mine = merchant.get("charges", {"payment_intent": declined}).data["data"]

    assert [(each["id"], each["status"]) for each in mine] == [
        ("ch_3", "succeeded"),
        ("ch_1", "failed"),
    ]
    assert len(merchant.get("charges").data["data"]) == 3
    assert merchant.get("charges", {"customer": "cus_404"}).data["data"] == []


def test_an_intent_is_refunded_in_parts_and_no_further(merchant: Any) -> None:
    paid = merchant.pay().data

    part = merchant.post("refunds", {"payment_intent": paid["id"], "amount": 200})
    too_much = merchant.post("refunds", {"payment_intent": paid["id"], "amount": 301})
    rest = merchant.post("refunds", {"charge": "ch_1", "reason": "duplicate"})
    once_more = merchant.post("refunds", {"charge": "ch_1"})

    assert (part.data["amount"], part.data["status"]) == (200, "succeeded")
    assert (too_much.status, too_much.error["type"]) == (400, "invalid_request_error")
    assert (rest.data["amount"], rest.data["reason"]) == (300, "duplicate")
    assert once_more.error["code"] == "charge_already_refunded"
    charge = merchant.get("charges/ch_1").data
    assert (charge["refunded"], charge["amount_refunded"]) == (True, 500)
    ledger = merchant.provider.ledger
    assert ledger.balance_minor("merchant:sk_test_shop", "USD") == 0
    assert merchant.event_types()[3:] == ["charge.refunded", "refund.created"] * 2


def test_what_was_never_taken_cannot_be_given_back(merchant: Any) -> None:
    held = merchant.hold()
    open_ = merchant.post("payment_intents", {"amount": 500, "currency": "usd"}).data

    for wanted in ({"charge": "ch_1"}, {"payment_intent": held["id"]}):
        assert merchant.post("refunds", wanted).status == 400
    assert merchant.post("refunds", {"payment_intent": open_["id"]}).status == 400
    assert merchant.post("refunds", {}).error["code"] == "parameter_missing"
    assert merchant.post("refunds", {"payment_intent": "pi_404"}).status == 404


def test_refunds_are_read_and_listed(merchant: Any) -> None:
    paid = merchant.pay().data
    made = merchant.post(
        "refunds", {"charge": "ch_1", "amount": 100, "metadata": {"why": "tea was cold"}}
    ).data
    merchant.pay()
    merchant.post("refunds", {"charge": "ch_2"})

    assert merchant.get(f"refunds/{made['id']}").data == made
    assert made["metadata"] == {"why": "tea was cold"}
    for wanted in ({"charge": "ch_1"}, {"payment_intent": paid["id"]}):
        assert [each["id"] for each in merchant.get("refunds", wanted).data["data"]] == [made["id"]]
    assert merchant.get("refunds/re_404").status == 404


def test_calls_about_an_order_are_written_down_with_it(merchant: Any) -> None:
    paid = merchant.pay().data
    refund = merchant.post("refunds", {"charge": "ch_1", "amount": 1}).data
    merchant.post("refunds", {"payment_intent": paid["id"], "amount": 1})
    merchant.post("refunds", {"payment_intent": "pi_404"})
    merchant.get(f"payment_intents/{paid['id']}")
    merchant.get("charges/ch_1")
    merchant.get(f"refunds/{refund['id']}")
    merchant.get("events/evt_1")
    merchant.get("events/evt_404")
    merchant.get("charges")
    merchant.get("customers/cus_1")

    receipts = [e for e in merchant.entries("call") if e.kind == "receive"]

    assert [(e.value["operation"], e.order) for e in receipts] == [
        ("charge.create", "ord-1"),
        ("charge.refund", "ord-1"),
        ("charge.refund", "ord-1"),
        ("charge.refund", None),
        ("charge.read", "ord-1"),
        ("charge.read", "ord-1"),
        ("refund.read", "ord-1"),
        ("event.read", "ord-1"),
        ("event.read", None),
        ("charge.list", None),
        ("customer.read", None),
    ]
    sent = [e.value["charge"] for e in merchant.entries("reply")]
    assert sent[:6] == ["ch_1", "ch_1", "ch_1", None, "ch_1", "ch_1"]
