"""Stripe's own webhooks, as the dialect of its name sends them: signed, several for one fact."""

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
import stripe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.service.conftest import Seen, Shop

SECRET = "whsec_what_stripe_signs_with"
OLD_SECRET = "whsec_what_stripe_signed_with"
STRIPE = {
    "PROVIDER_KIND": "stripe",
    "PROVIDER_API_KEY": "sk_test_shop",
    "WEBHOOK_SECRET": f"{SECRET} {OLD_SECRET}",
}
CREATE: dict[str, object] = {"operation": "charge.create"}
UNCLEAR = {"PROVIDER_TIMEOUT_S": "0.5"}


def listen(shop: "Shop", secret: str = SECRET) -> None:
    shop.simulator.add_endpoint(f"{shop.addresses[0]}/webhooks/provider", secret)


async def delivered(shop: "Shop") -> list[str]:
    """Wait until every event so far is acknowledged; return their types."""
    async with asyncio.timeout(60):
        while shop.simulator.undelivered():
            await asyncio.sleep(0.02)
    return [event.type for event in shop.simulator.provider.events.values()]


async def tell(
    shop: "Shop",
    thing: "Mapping[str, Any]",
    event: str = "evt_1",
    *,
    secret: str = SECRET,
    signed_s_ago: int = 0,
    **more: object,
) -> "Seen":
    """Deliver one event as Stripe would, with a thing in it."""
    value = {"id": event, "object": "event", "type": "any", "data": {"object": thing}, **more}
    body = json.dumps(value, indent=2)
    at = int(time.time()) - signed_s_ago
    signature = stripe.WebhookSignature.generate_signature_header(body, secret, at)
    headers = {"Stripe-Signature": signature}
    return await shop.send("POST", "/webhooks/provider", headers, body.encode())


async def made(shop: "Shop") -> dict[str, Any]:
    """Pay, and return the intent as Stripe shows it."""
    paid = await shop.pay()
    url = f"{shop.simulator.url()}/v1/payment_intents/{paid.json['provider_charge']}"
    headers = {"Authorization": "Bearer sk_test_shop"}
    async with shop.client.get(url, headers=headers) as response:
        intent: dict[str, Any] = await response.json()
        return intent


async def test_an_intent_and_its_charge_tell_of_one_payment(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    listen(shop)

    await shop.pay()
    types = await delivered(shop)

    assert {"payment_intent.created", "payment_intent.succeeded", "charge.succeeded"} <= set(types)
    assert await shop.status() == "succeeded"
    assert await shop.credits_minor() == [500]


async def test_an_answer_that_never_came_is_told_by_the_events(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE, **UNCLEAR)
    listen(shop)
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})

    await shop.pay()
    await delivered(shop)

    assert await shop.status() == "succeeded"
    assert (await shop.pay()).status == 201
    assert await shop.credits_minor() == [500]
    assert await shop.reconcile() == 0


async def test_an_intent_that_is_new_is_not_taken_for_one_that_failed(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE, **UNCLEAR)
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()
    events = shop.simulator.provider.events
    [new] = [id_ for id_, event in events.items() if event.type == "payment_intent.created"]
    listen(shop)

    shop.simulator.resend(new)
    await delivered(shop)

    assert len(await shop.rows("select 1 from events")) == 1
    assert await shop.status() == "processing"


async def test_a_decline_that_nobody_answered_is_told_by_its_intent(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    declining = "pm_card_chargeDeclinedInsufficientFunds"
    await shop.open(**STRIPE, **UNCLEAR, STRIPE_PAYMENT_METHOD=declining)
    listen(shop)
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})

    await shop.pay()
    types = await delivered(shop)

    assert {"payment_intent.payment_failed", "charge.failed"} <= set(types)
    assert await shop.status() == "failed"
    declined = await shop.pay()
    assert (declined.status, declined.json["reason"]) == (402, "insufficient_funds")
    assert await shop.credits_minor() == []


async def test_our_own_refund_is_booked_once_although_the_events_tell_of_it(
    stripe_shop: "Shop",
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    listen(shop)
    paid = await shop.pay()

    await shop.refund(paid.json["id"], amount_minor=100)
    types = await delivered(shop)

    assert {"charge.refunded", "refund.created"} <= set(types)
    assert await shop.entries_minor() == [("charge", 500), ("refund", 100)]


async def test_a_refund_whose_answer_was_lost_is_booked_by_its_event(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE, **UNCLEAR)
    paid = await shop.pay()
    listen(shop)
    shop.go_wrong({"fault": "time_out_after_commit", "operation": "charge.refund"})

    unclear = await shop.refund(paid.json["id"], amount_minor=100)
    await delivered(shop)

    assert unclear.status == 202
    assert await shop.entries_minor() == [("charge", 500), ("refund", 100)]


@pytest.mark.parametrize("copies", ["the same id", "new ids"])
async def test_copies_are_acknowledged_and_book_nothing(stripe_shop: "Shop", copies: str) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    intent = await made(shop)

    ids = ["evt_1"] * 4 if copies == "the same id" else [f"evt_{number}" for number in range(4)]
    told = await asyncio.gather(*(tell(shop, intent, event) for event in ids))

    assert {seen.status for seen in told} == {200}
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
async def test_during_a_rotation_either_secret_is_believed(
    stripe_shop: "Shop", secret: str
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)

    assert (await tell(shop, await made(shop), secret=secret)).status == 200


async def test_a_signature_by_both_secrets_is_believed(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    url = f"{shop.addresses[0]}/webhooks/provider"
    listen(shop, OLD_SECRET)
    shop.simulator.provider.rotate_secret(url, SECRET, None, now=0.0, keep_s=86_400.0)

    await shop.pay()

    assert len(await delivered(shop)) == 3


@pytest.mark.parametrize(
    "secret, signed_s_ago", [("whsec_of_somebody_else", 0), (SECRET, 400), (SECRET, -400)]
)
async def test_what_stripe_has_not_signed_lately_is_refused(
    stripe_shop: "Shop", secret: str, signed_s_ago: int
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    intent = await made(shop)

    told = await tell(shop, intent, secret=secret, signed_s_ago=signed_s_ago)

    assert told.status == 401
    assert await shop.rows("select 1 from events") == []


@pytest.mark.parametrize("signature", ["", "t=1", "t=x,v1=00", "v1=00", "t=1,v1=é"])
async def test_a_signature_that_is_none_is_refused(stripe_shop: "Shop", signature: str) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)

    headers = {"Stripe-Signature": signature}
    told = await shop.send("POST", "/webhooks/provider", headers, b"\xff{}")

    assert told.status == 401


async def test_a_body_that_is_signed_and_no_event_is_refused(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    half = {"object": "payment_intent", "id": "pi_1"}

    assert (await tell(shop, half)).status == 400
    assert (await tell(shop, {}, id=None)).status == 400


async def test_what_is_no_payment_of_ours_is_acknowledged_and_changes_nothing(
    stripe_shop: "Shop",
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    intent = await made(shop)
    stranger = intent | {"id": "pi_stranger", "metadata": {}}
    charge = {
        "object": "charge",
        "payment_intent": None,
        "status": "succeeded",
        "captured": True,
        "amount": 500,
        "amount_captured": 500,
        "amount_refunded": 0,
        "currency": "eur",
    }
    refund = {"object": "refund", "id": "re_9", "payment_intent": "pi_stranger", "amount": 500}
    told = [
        await tell(shop, {"object": "customer", "id": "cus_1"}, "evt_1"),
        await tell(shop, stranger, "evt_2"),
        await tell(shop, charge, "evt_3"),
        await tell(shop, refund | {"status": "succeeded"}, "evt_4"),
        await tell(shop, refund | {"status": "failed", "payment_intent": intent["id"]}, "evt_5"),
        await tell(shop, intent | {"status": "a_new_status"}, "evt_6"),
        await tell(shop, intent | {"status": "canceled"}, "evt_7", account="acct_connected"),
    ]

    assert {seen.status for seen in told} == {200}
    assert await shop.entries_minor() == [("charge", 500)]
    assert await shop.status() == "succeeded"


async def test_a_refund_of_a_charge_that_is_not_known_yet_is_asked_for_again(
    stripe_shop: "Shop",
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE, **UNCLEAR)
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()
    refund = {"object": "refund", "id": "re_9", "payment_intent": "pi_1", "amount": 500}

    early = await tell(shop, refund | {"status": "succeeded"})

    assert (early.status, early.headers["Retry-After"]) == (503, "1")
    assert await shop.rows("select 1 from events") == []
