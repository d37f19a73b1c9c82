"""Customers and their payment methods."""

from typing import Any

import pytest


def test_a_customer_is_made_changed_and_read(merchant: Any) -> None:
    made = merchant.post(
        "customers",
        {"email": "ada@shop.test", "name": "Ada", "metadata": {"vip": "yes"}},
    ).data
    changed = merchant.post(
        f"customers/{made['id']}",
        {
            "name": "",
            "phone": "1",
            "email": "a@shop.test",
            "metadata": {"vip": ""},
            "invoice_settings": {"default_payment_method": "pm_1"},
        },
    ).data

    assert (made["email"], made["name"], made["metadata"]) == (
        "ada@shop.test",
        "Ada",
        {"vip": "yes"},
    )
    assert (changed["email"], changed["name"], changed["phone"]) == ("a@shop.test", None, "1")
    assert changed["metadata"] == {}
    assert changed["invoice_settings"]["default_payment_method"] == "pm_1"
    assert merchant.get(f"customers/{made['id']}").data == changed
    assert merchant.event_types() == ["customer.created", "customer.updated"]


def test_a_deleted_customer_says_so_and_is_not_listed(merchant: Any) -> None:
    kept = merchant.post("customers", {"email": "kept@shop.test"}).data["id"]
    gone = merchant.post("customers", {"email": "gone@shop.test"}).data["id"]

    deleted = merchant.call("DELETE", f"customers/{gone}").data

    assert deleted == {"id": gone, "object": "customer", "deleted": True}
    assert merchant.get(f"customers/{gone}").data == deleted
    assert [each["id"] for each in merchant.get("customers").data["data"]] == [kept]
    assert merchant.get("customers", {"email": "gone@shop.test"}).data["data"] == []
    for again in (
        merchant.call("DELETE", f"customers/{gone}"),
        merchant.post(f"customers/{gone}", {"name": "x"}),
    ):
        assert (again.status, again.error["code"]) == (404, "resource_missing")
    refused = merchant.pay(customer=gone)
    assert (refused.status, refused.error["param"]) == (400, "customer")
    assert merchant.event_types()[-1] == "customer.deleted"


def test_a_customer_nobody_knows_cannot_pay(merchant: Any) -> None:
    refused = merchant.pay(customer="cus_404")

    assert (refused.status, refused.error["code"]) == (400, "resource_missing")
    assert refused.error["param"] == "customer"
    assert merchant.captured() == []


def test_a_test_method_becomes_a_method_of_its_own(merchant: Any) -> None:
    customer = merchant.post("customers").data["id"]

    attached = merchant.post("payment_methods/pm_card_visa/attach", {"customer": customer}).data
    other = merchant.post("payment_methods/pm_card_visa/attach", {"customer": customer}).data

    assert attached["id"] != other["id"]
    assert (attached["customer"], attached["type"]) == (customer, "card")
    assert attached["card"]["last4"] == "4242"
    assert merchant.get(f"payment_methods/{attached['id']}").data == attached
    paid = merchant.pay(attached["id"], customer=customer).data
    assert (paid["customer"], paid["payment_method"]) == (customer, attached["id"])
    listed = merchant.get("payment_methods", {"customer": customer, "type": "card"}).data["data"]
    assert [each["id"] for each in listed] == [other["id"], attached["id"]]
    of_customer = merchant.get(f"customers/{customer}/payment_methods").data["data"]
    assert of_customer == listed


def test_a_customer_may_have_a_method_from_the_beginning(merchant: Any) -> None:
    made = merchant.post("customers", {"payment_method": "pm_card_visa"}).data

    [method] = merchant.get("payment_methods", {"customer": made["id"]}).data["data"]

    assert method["customer"] == made["id"]
    assert merchant.event_types() == ["customer.created", "payment_method.attached"]
    refused = merchant.post("customers", {"payment_method": "pm_card_chargeDeclined"})
    assert refused.status == 402
    assert len(merchant.get("customers").data["data"]) == 1


def test_a_method_is_detached_and_free_for_another(merchant: Any) -> None:
    ada = merchant.post("customers").data["id"]
    bob = merchant.post("customers").data["id"]
    method = merchant.post("payment_methods/pm_card_visa/attach", {"customer": ada}).data["id"]

    taken = merchant.post(f"payment_methods/{method}/attach", {"customer": bob})
    free = merchant.post(f"payment_methods/{method}/detach")
    not_twice = merchant.post(f"payment_methods/{method}/detach")
    now_bobs = merchant.post(f"payment_methods/{method}/attach", {"customer": bob})

    assert taken.status == not_twice.status == 400
    assert free.data["customer"] is None
    assert now_bobs.data["customer"] == bob
    assert merchant.event_types()[-2:] == ["payment_method.detached", "payment_method.attached"]


def test_a_card_that_declines_cannot_be_attached_unless_it_hides_it(merchant: Any) -> None:
    customer = merchant.post("customers").data["id"]

    declined = merchant.post(
        "payment_methods/pm_card_chargeDeclinedExpiredCard/attach", {"customer": customer}
    )
    hidden = merchant.post(
        "payment_methods/pm_card_chargeCustomerFail/attach", {"customer": customer}
    )

    assert (declined.status, declined.error["code"]) == (402, "expired_card")
    assert hidden.status == 200
    assert merchant.pay(hidden.data["id"], customer=customer).status == 402


def test_what_is_not_there_cannot_be_attached(merchant: Any) -> None:
    customer = merchant.post("customers").data["id"]

    assert merchant.post("payment_methods/pm_404/attach", {"customer": customer}).status == 404
    no_customer = merchant.post("payment_methods/pm_card_visa/attach", {"customer": "cus_404"})
    assert no_customer.status == 400
    assert merchant.pay("pm_404").error["param"] == "payment_method"


@pytest.mark.parametrize(
    "described,last4",
    [
        ({"type": "card", "card": {"token": "tok_visa"}}, "4242"),
        ({"type": "card", "card": {"number": "5555 5555 5555 4444", "cvc": "123"}}, "4444"),
        ({"type": "us_bank_account", "us_bank_account": {"account_number": "1"}}, "6789"),
    ],
)
def test_a_method_is_described(merchant: Any, described: Any, last4: str) -> None:
    wish = {**described, "billing_details": {"name": "Ada"}, "metadata": {"a": "b"}}

    made = merchant.post("payment_methods", wish).data

    assert made[made["type"]]["last4"] == last4
    assert made["billing_details"]["name"] == "Ada"
    assert made["billing_details"]["email"] is None
    assert made["metadata"] == {"a": "b"}


def test_a_method_is_described_in_the_call_that_charges_it(merchant: Any) -> None:
    data = {"type": "card", "card": {"number": "4000000000009995"}}
    wish = {"amount": 500, "currency": "usd", "confirm": "true", "payment_method_data": data}

    declined = merchant.post("payment_intents", wish)

    assert declined.error["decline_code"] == "insufficient_funds"


@pytest.mark.parametrize(
    "described,code,param",
    [
        ({}, "parameter_missing", "type"),
        ({"type": "card"}, "parameter_missing", "card[number]"),
        ({"type": "card", "card": {"token": "tok_404"}}, "resource_missing", "card[token]"),
        ({"type": "card", "card": {"number": "4111"}}, "incorrect_number", "card[number]"),
        ({"type": "card", "card": {"pin": "1"}}, "parameter_unknown", "card[pin]"),
    ],
)
def test_a_method_badly_described_is_refused(
    merchant: Any, described: Any, code: str, param: str
) -> None:
    refused = merchant.post("payment_methods", described)

    assert (refused.error["code"], refused.error["param"]) == (code, param)


def test_in_an_intent_the_place_of_the_mistake_is_told_in_full(merchant: Any) -> None:
    wish = {"amount": 500, "currency": "usd"}

    for data, param in (
        ({"card": {"token": "tok_visa"}}, "payment_method_data[type]"),
        ({"type": "card"}, "payment_method_data[card][number]"),
    ):
        refused = merchant.post("payment_intents", {**wish, "payment_method_data": data})
        assert refused.error["param"] == param
