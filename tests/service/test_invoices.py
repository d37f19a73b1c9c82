"""``invoice.due``: an event that makes the service charge, at most once."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Seen, Shop

HELD: dict[str, object] = {"fault": "hold", "operation": "charge.create", "until": "released"}


def body(invoice: str = "in_1", order: str = "ord-1", **changes: object) -> str:
    due = {"id": invoice, "order": order, "amount_minor": 500, "currency": "EUR"}
    data = {"invoice": due | {"customer": "cus-1"} | changes}
    return json.dumps({"type": "invoice.due", "data": data})


async def due(shop: "Shop", event: str = "evt-1", at: int = 0, **changes: Any) -> "Seen":
    return await shop.deliver(body(**changes), event, at=at)


async def settled(shop: "Shop", order: str = "ord-1", *, at: int = 0) -> str:
    """Wait until the charge that follows an acknowledged event has ended."""
    async with asyncio.timeout(60):
        while (status := await shop.status(order, at=at)) == "processing":
            await asyncio.sleep(0.01)
    return status


async def test_an_invoice_that_is_due_is_charged_and_booked_once(shop: "Shop") -> None:
    await shop.open()

    seen = await due(shop)

    assert (seen.status, seen.json["taken"]) == (200, "applied")
    assert await settled(shop) == "succeeded"
    assert shop.real_charges() == ["ch_1"]
    assert await shop.credits_minor() == [500]


async def test_copies_one_by_one_are_acknowledged_and_charge_once(shop: "Shop") -> None:
    await shop.open()

    seen = [await due(shop) for _ in range(3)]
    await settled(shop)

    assert [answer.json["taken"] for answer in seen] == ["applied", "duplicate", "duplicate"]
    assert shop.real_charges() == ["ch_1"]


async def test_copies_at_the_same_moment_over_two_processes_charge_once(shop: "Shop") -> None:
    await asyncio.gather(shop.spawn(), shop.spawn())

    seen = await asyncio.gather(*(due(shop, at=copy % 2) for copy in range(8)))
    await settled(shop)

    assert {answer.status for answer in seen} == {200}
    assert sorted(answer.json["taken"] for answer in seen) == ["applied", *["duplicate"] * 7]
    assert shop.real_charges() == ["ch_1"]
    assert await shop.credits_minor() == [500]


async def test_the_same_invoice_under_a_new_event_id_is_charged_once(shop: "Shop") -> None:
    await shop.open()

    seen = [await due(shop, f"evt-{number}") for number in range(3)]
    await settled(shop)

    assert [answer.json["taken"] for answer in seen] == ["applied", "duplicate", "duplicate"]
    assert shop.real_charges() == ["ch_1"]


async def test_two_invoices_are_two_charges(shop: "Shop") -> None:
    await shop.open()

    await due(shop, "evt-1", invoice="in_1", order="ord-1")
    await due(shop, "evt-2", invoice="in_2", order="ord-2")

    assert [await settled(shop, order) for order in ("ord-1", "ord-2")] == ["succeeded"] * 2
    assert await shop.credits_minor() == [500, 500]


async def test_an_event_is_acknowledged_before_its_charge_is_made(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({**HELD, "seam": "before_commit"})

    seen = await due(shop)
    await shop.parked()

    assert seen.status == 200
    assert await shop.status() == "processing"
    assert shop.real_charges() == []
    shop.simulator.disarm()
    assert await settled(shop) == "succeeded"


@pytest.mark.parametrize("seam", ["on_receive", "before_commit", "after_commit"])
async def test_a_process_that_is_killed_in_between_leaves_a_charge_to_the_next(
    shop: "Shop", seam: str
) -> None:
    killed = await shop.spawn()
    shop.go_wrong({**HELD, "seam": seam})
    acknowledged = await due(shop)
    await shop.parked()

    shop.supervisor.kill(killed)
    await shop.supervisor.exited(killed)
    shop.simulator.disarm()
    await shop.open()
    copy = await due(shop, at=1)
    reconciled = await shop.reconcile()

    assert (acknowledged.status, copy.json["taken"], reconciled) == (200, "duplicate", 1)
    assert await shop.status(at=1) == "succeeded"
    assert len(shop.real_charges()) == 1
    assert len(set(shop.upstream_keys())) == 1
    assert await shop.credits_minor(at=1) == [500]


async def test_an_unclear_charge_of_an_invoice_is_found_out_by_the_reconciler(
    shop: "Shop",
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", "operation": "charge.create", "times": 1})
    await due(shop)
    async with asyncio.timeout(60):
        while not await shop.rows("select 1 from operations where asked > 0"):
            await asyncio.sleep(0.01)
    shop.simulator.disarm()

    assert await shop.reconcile() == 1
    assert await shop.status() == "succeeded"
    assert shop.real_charges() == ["ch_1"]


async def test_a_client_key_that_looks_like_an_event_is_another_key(shop: "Shop") -> None:
    await shop.open()
    await shop.pay("evt-1", "ord-1")

    await due(shop, "evt-1", order="ord-2")

    assert await settled(shop, "ord-2") == "succeeded"
    assert len(shop.upstream_keys()) == 2


async def test_a_process_that_is_asked_to_stop_ends_the_charge_of_an_invoice(
    shop: "Shop",
) -> None:
    stopped = await shop.spawn()
    shop.go_wrong({**HELD, "seam": "after_commit"})
    await due(shop)
    await shop.parked()

    stopping = asyncio.create_task(shop.supervisor.stop(stopped))
    shop.simulator.disarm()

    assert await stopping == 0
    [row] = await shop.rows("select status from operations")
    assert row["status"] == "succeeded"


@pytest.mark.parametrize(
    "changes", [{"amount_minor": 0}, {"amount_minor": "500"}, {"currency": "euro"}, {"order": ""}]
)
async def test_what_is_no_invoice_is_refused_and_charges_nothing(
    shop: "Shop", changes: dict[str, Any]
) -> None:
    await shop.open()

    assert (await due(shop, **changes)).status == 400
    assert await shop.rows("select 1 from operations") == []
    assert await shop.rows("select 1 from events") == []


async def test_an_invoice_of_nobody_is_not_acknowledged(shop: "Shop") -> None:
    await shop.open(INVOICE_TOKEN="")

    seen = await due(shop)

    assert (seen.status, seen.json["code"]) == (503, "no_billing")


async def test_a_forged_invoice_charges_nothing(shop: "Shop") -> None:
    await shop.open()

    forged = await shop.deliver(body(), secret="whsec_bm90IG91ciBzZWNyZXQgYXQgYWxsISEh")

    assert forged.status == 401
    assert shop.upstream_keys() == []
