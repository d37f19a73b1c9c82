"""What a customer's browser may do with a publishable key and a client secret."""

import base64
from typing import Any

import pytest

from simulator.core.messages import HttpRequest, Reply


@pytest.fixture
def intent(merchant: Any) -> Any:
    wish = {"amount": 500, "currency": "usd", "metadata": {"order_id": "ord-1"}}
    return merchant.post("payment_intents", wish).data


def test_a_browser_confirms_with_the_client_secret(merchant: Any, intent: Any) -> None:
    paid = (
        merchant.browser()
        .post(
            f"payment_intents/{intent['id']}/confirm",
            {"client_secret": intent["client_secret"], "payment_method": "pm_card_visa"},
        )
        .data
    )

    assert paid["status"] == "succeeded"
    assert not {"metadata", "latest_charge", "customer"} & set(paid)
    assert merchant.captured() == [500]
    [capture] = merchant.entries("charge.captured")
    assert (capture.tenant, capture.order) == ("sk_test_shop", "ord-1")


def test_the_key_may_be_a_field_among_others_of_the_script(merchant: Any, intent: Any) -> None:
    browser = merchant.browser()
    browser.headers = {"authorization": ""}

    paid = browser.post(
        f"payment_intents/{intent['id']}/confirm",
        {
            "key": "pk_test_shop",
            "_stripe_version": "2026-10-28.endive",
            "client_secret": intent["client_secret"],
            "payment_method_data": {"type": "card", "card": {"number": "4242424242424242"}},
        },
    )

    assert paid.data["status"] == "succeeded"


def test_a_declined_browser_sees_no_more_than_it_may(merchant: Any, intent: Any) -> None:
    secret = {"client_secret": intent["client_secret"]}
    path = f"payment_intents/{intent['id']}"

    declined = merchant.browser().post(
        f"{path}/confirm", {**secret, "payment_method": "pm_card_chargeDeclined"}
    )
    unready = merchant.browser().post(f"{path}/confirm", secret)
    seen = merchant.browser().get(path, secret)

    assert declined.error["decline_code"] == "generic_decline"
    for shown in (
        declined.error["payment_intent"],
        unready.error["payment_intent"],
        seen.data,
    ):
        assert shown["status"] == "requires_payment_method"
        assert "metadata" not in shown


@pytest.mark.parametrize("shown", [{}, {"client_secret": "pi_1_secret_guess"}])
def test_without_the_client_secret_a_browser_may_nothing(
    merchant: Any, intent: Any, shown: Any
) -> None:
    path = f"payment_intents/{intent['id']}"

    assert merchant.browser().get(path, shown).error["param"] == "client_secret"
    wish = {**shown, "payment_method": "pm_card_visa"}
    assert merchant.browser().post(f"{path}/confirm", wish).status == 400
    assert merchant.captured() == []


@pytest.mark.parametrize("path", ["customers", "refunds", "payment_intents"])
def test_what_takes_a_secret_key_takes_no_other(merchant: Any, path: str) -> None:
    refused = merchant.browser().post(path)

    assert (refused.status, refused.error["code"]) == (401, "secret_key_required")


def test_a_browser_makes_a_payment_method(merchant: Any, intent: Any) -> None:
    made = (
        merchant.browser()
        .post("payment_methods", {"type": "card", "card": {"token": "tok_visa"}, "guid": "x"})
        .data
    )

    paid = merchant.post(
        f"payment_intents/{intent['id']}/confirm", {"payment_method": made["id"]}
    ).data

    assert paid["status"] == "succeeded"


def test_a_browser_asks_first_whether_it_may_ask(merchant: Any) -> None:
    request = HttpRequest("OPTIONS", "/v1/payment_intents/pi_1/confirm")

    [action] = merchant.provider.receive(request, 0.0)

    assert isinstance(action, Reply)
    headers = dict(action.reply.headers)
    assert action.reply.status == 200
    assert headers["access-control-allow-origin"] == "*"
    assert "POST" in headers["access-control-allow-methods"]


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer sk_test_shop",
        "bearer  sk_test_shop",
        "Bearer rk_test_shop",
        "Basic " + base64.b64encode(b"sk_test_shop:").decode(),
    ],
)
def test_a_server_shows_its_key_in_several_ways(merchant: Any, authorization: str) -> None:
    merchant.post("customers")
    merchant.headers = {"authorization": authorization}

    assert len(merchant.get("customers").data["data"]) == 1


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer ",
        "Bearer sk_live_real",
        "Bearer nonsense",
        "Basic !!!",
        "Basic " + base64.b64encode(b"\xff\xfe").decode(),
        "Digest x",
    ],
)
def test_who_shows_no_sound_key_is_refused(merchant: Any, authorization: str) -> None:
    merchant.headers = {"authorization": authorization}

    refused = merchant.get("customers", {"key": "sk_test_shop"})

    assert (refused.status, refused.error["type"]) == (401, "invalid_request_error")
    assert refused.headers["www-authenticate"] == 'Bearer realm="Stripe"'


def test_a_platform_speaks_for_a_connected_account(merchant: Any) -> None:
    merchant.headers = {"stripe-account": "acct_1"}
    merchant.post("customers")
    assert len(merchant.get("customers").data["data"]) == 1

    merchant.headers = {}
    assert merchant.get("customers").data["data"] == []
    merchant.headers = {"stripe-account": "nobody"}
    assert merchant.get("customers").status == 401
