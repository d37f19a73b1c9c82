"""The same service at Stripe, by the official library, against the dialect of its name."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

STRIPE = {"PROVIDER_KIND": "stripe", "PROVIDER_API_KEY": "sk_test_shop"}
CREATE: dict[str, object] = {"operation": "charge.create"}


async def test_a_charge_is_an_intent_and_booked_once(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)

    paid = await shop.pay()
    again = await shop.pay()

    assert (paid.status, paid.json["status"]) == (201, "succeeded")
    assert paid.json["provider_charge"].startswith("pi_")
    assert again.body == paid.body
    assert len(shop.real_charges()) == 1
    assert await shop.credits_minor() == [500]


async def test_a_decline_is_definite(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    declining = "pm_card_chargeDeclinedInsufficientFunds"
    await shop.open(**STRIPE, STRIPE_PAYMENT_METHOD=declining)

    declined = await shop.pay()

    assert (declined.status, declined.json["reason"]) == (402, "insufficient_funds")
    assert shop.real_charges() == []


@pytest.mark.parametrize("fault", ["lose_reply", "reset_before_commit", "error_before_commit"])
async def test_the_librarys_own_retries_carry_one_key(stripe_shop: "Shop", fault: str) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    shop.go_wrong({"fault": fault, "times": 1, **CREATE})

    paid = await shop.pay()

    assert paid.status == 201
    assert len(shop.upstream_keys()) == 2
    assert len(set(shop.upstream_keys())) == 1
    assert len(shop.real_charges()) == 1


async def test_an_unknown_outcome_is_found_by_the_reconciler(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE, PROVIDER_TIMEOUT_S="0.5")
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    unclear = await shop.pay()
    shop.simulator.disarm()

    assert await shop.reconcile() == 1

    assert unclear.status == 202
    assert await shop.status() == "succeeded"
    assert len(shop.real_charges()) == 1
    assert await shop.credits_minor() == [500]


async def test_an_error_that_is_stored_under_the_key_does_not_hide_the_charge(
    stripe_shop: "Shop",
) -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    shop.go_wrong({"fault": "error_after_commit", "stored": True, **CREATE})

    paid = await shop.pay()

    assert paid.status == 201
    assert len(shop.real_charges()) == 1


async def test_what_is_authorised_is_captured_and_refunded(stripe_shop: "Shop") -> None:
    shop = stripe_shop
    await shop.open(**STRIPE)
    charge_id = await shop.authorise()

    captured = await shop.capture(charge_id, amount_minor=300)
    part = await shop.refund(charge_id, amount_minor=100)
    too_much = await shop.refund(charge_id, "key-2", amount_minor=201)

    assert (captured.status, part.status, too_much.status) == (201, 201, 422)
    assert part.json["provider_refund"].startswith("re_")
    assert await shop.entries_minor() == [("charge", 300), ("refund", 100)]
