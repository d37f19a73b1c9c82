"""Mutants whose broken guard is how an event is taken in, and what it may change."""

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}
ANSWER_HELD: dict[str, object] = {
    "fault": "hold",
    "until": "released",
    "seam": "after_commit",
    **CREATE,
}
PAID_FOR = {"reference": "ord-1"}
INVOICE = {"id": "in_1", "order": "ord-1", "amount_minor": 500, "currency": "EUR"}


async def test_copies_that_pass_the_gate_together_all_credit(shop: "Shop") -> None:
    await shop.open("event_gate_before_the_transaction")
    await shop.pay()
    charge = await shop.provider_charge()

    async with shop.locked("events"):
        both = [asyncio.create_task(shop.tell(charge)) for _ in range(2)]
        await shop.until("select 1 from pg_locks where not granted having count(*) = 2")
    told = await asyncio.gather(*both)

    assert [seen.status for seen in told] == [200, 200]
    assert await shop.credits_minor() == [500, 500]


@pytest.mark.parametrize(
    "mutant, first",
    [("event_marked_before_its_effect", 503), ("event_too_early_is_dropped", 200)],
)
async def test_an_event_that_came_too_early_never_has_its_effect(
    shop: "Shop", mutant: str, first: int
) -> None:
    await shop.open(mutant)
    shop.go_wrong(ANSWER_HELD)
    paying = asyncio.create_task(shop.pay())
    await shop.parked()
    charge = await shop.provider_charge()

    early = await shop.tell(charge)
    shop.simulator.disarm()
    paid = await paying
    again = await shop.tell(charge)

    assert (early.status, paid.status, again.status) == (first, 201, 200)
    assert await shop.credits_minor() == []


async def test_every_type_that_tells_of_a_payment_credits_it(shop: "Shop") -> None:
    await shop.open("aliases_credit_each")
    await shop.pay()
    charge = await shop.provider_charge()

    await shop.tell(charge, "evt-1")
    await shop.tell(charge, "evt-2")
    assert await shop.credits_minor() == [500]

    alias = {"type": "payment.succeeded", "data": {"charge": charge}}
    assert (await shop.deliver(json.dumps(alias), "evt-3")).status == 200
    assert await shop.credits_minor() == [500, 500]


async def test_a_fact_that_is_told_under_a_new_id_credits_again(shop: "Shop") -> None:
    await shop.open("every_event_id_credits")
    await shop.pay()
    charge = await shop.provider_charge()

    for event in ("evt-1", "evt-1", "evt-2"):
        assert (await shop.tell(charge, event)).status == 200

    assert await shop.credits_minor() == [500, 500]


async def test_a_late_failure_undoes_a_success(shop: "Shop") -> None:
    await shop.open("late_failure_believed")
    await shop.pay()
    charge = await shop.provider_charge()

    await shop.tell(charge | {"status": "declined", "captured_minor": 0})

    assert await shop.status() == "failed"
    assert len(shop.real_charges()) == 1


async def test_a_success_after_a_failure_is_not_believed(shop: "Shop") -> None:
    await shop.open("failure_is_for_ever")
    shop.go_wrong({"fault": "decline", **CREATE})
    await shop.pay()
    charge = await shop.provider_charge()

    told = await shop.tell(charge | {"status": "captured", "captured_minor": 500})

    assert (told.status, await shop.status()) == (200, "failed")


async def test_the_answer_that_finds_the_order_done_gives_the_money_back(shop: "Shop") -> None:
    await shop.open("loser_refunds")
    shop.go_wrong(ANSWER_HELD)
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    await shop.tell(await shop.provider_charge())
    shop.simulator.disarm()

    assert (await paying).status == 201
    assert shop.refunds_minor() == [500]
    assert await shop.status() == "succeeded"


async def test_a_duplicate_is_answered_with_an_error(shop: "Shop") -> None:
    await shop.open("duplicate_is_an_error")
    await shop.pay()
    charge = await shop.provider_charge()

    assert [(await shop.tell(charge)).status for _ in range(2)] == [200, 500]


async def test_of_two_credits_after_one_latest_row_one_is_lost(shop: "Shop") -> None:
    await shop.open("credit_after_the_latest_row")
    charges = []
    for number in (1, 2):
        await shop.pay(f"key-{number}", f"ord-{number}")
        charges.append(await shop.provider_charge(f"ch_{number}"))

    async with shop.locked("ledger"):
        both = [asyncio.create_task(shop.tell(charge, f"evt-{charge['id']}")) for charge in charges]
        await shop.until("select 1 from pg_locks where not granted having count(*) = 2")
    told = await asyncio.gather(*both)

    assert [seen.status for seen in told] == [200, 200]
    assert await shop.credits_minor() == [500]


async def test_an_event_without_a_signature_is_believed(shop: "Shop") -> None:
    await shop.open("unsigned_is_believed")
    shop.go_wrong({"fault": "reset_before_commit", **CREATE})
    await shop.pay()
    made_up = {"id": "ch_9", "status": "captured", "amount_minor": 500, "currency": "EUR"}
    body = json.dumps({"type": "charge.captured", "data": {"charge": made_up | PAID_FOR}})

    told = await shop.send("POST", "/webhooks/provider", {"webhook-id": "evt-1"}, body.encode())

    assert (told.status, await shop.status()) == (200, "succeeded")
    assert shop.real_charges() == []


@pytest.mark.parametrize(
    "mutant, second",
    [("invoice_charged_by_every_delivery", "evt-1"), ("invoice_known_by_its_event_only", "evt-2")],
)
async def test_one_invoice_is_charged_twice(shop: "Shop", mutant: str, second: str) -> None:
    await shop.open(mutant)
    invoice = INVOICE | {"customer": "cus-1"}
    body = json.dumps({"type": "invoice.due", "data": {"invoice": invoice}})

    told = [await shop.deliver(body, event) for event in ("evt-1", second)]
    async with asyncio.timeout(60):
        while len(shop.real_charges()) < 2:
            await asyncio.sleep(0.01)

    assert [seen.status for seen in told] == [200, 200]
