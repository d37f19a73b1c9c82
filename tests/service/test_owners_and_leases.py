"""Who works on an operation, how long, and what the provider may have forgotten meanwhile."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}
HELD: dict[str, object] = {**CREATE, "fault": "hold", "until": "released"}
LEASES_END = "update operations set lease_until = now() - interval '1 second'"


def later(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


async def test_a_live_owner_renews_its_lease_and_is_not_overtaken(shop: "Shop") -> None:
    owner = await shop.open()
    await shop.open()
    shop.go_wrong({**HELD, "seam": "before_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()
    await shop.rows(LEASES_END)

    renewed = await owner.charging.leases.run_once(later(0))
    overtaking = await shop.pay(at=1)
    shop.simulator.disarm()

    assert renewed == 1
    assert overtaking.status == 409
    assert (await paying).status == 201
    assert await owner.charging.leases.run_once(later(0)) == 0  # nothing is held any more
    assert len(shop.upstream_keys()) == 1


async def test_an_owner_that_was_overtaken_renews_nothing_and_records_nothing(
    shop: "Shop",
) -> None:
    owner = await shop.open()
    shop.go_wrong({**HELD, "seam": "before_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()
    await shop.rows("update operations set lease_token = lease_token + 1")

    renewed = await owner.charging.leases.run_once(later(0))
    shop.simulator.disarm()
    overtaken = await paying

    assert renewed == 0
    assert overtaken.status == 202
    assert await shop.credits_minor() == []


async def test_a_lease_may_be_shorter_than_a_call(shop: "Shop") -> None:
    await shop.open(LEASE_S="0.3", PROVIDER_TIMEOUT_S="30")
    await shop.open(LEASE_S="0.3")
    shop.go_wrong({**HELD, "seam": "before_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    [before] = await shop.rows("select lease_until from operations")
    async with asyncio.timeout(60):  # the owner's own loop renews, whenever its time comes
        while True:
            [row] = await shop.rows("select lease_until from operations")
            if row["lease_until"] - before["lease_until"] > timedelta(seconds=0.5):
                break
            await asyncio.sleep(0.02)
    shop.simulator.disarm()

    assert (await paying).status == 201
    assert len(shop.upstream_keys()) == 1


async def test_the_reconciler_leaves_alone_what_it_asked_lately_twice_as_long_each_time(
    shop: "Shop",
) -> None:
    service = await shop.open(RECONCILE_EVERY_S="1000", RECONCILE_AT_LEAST_EVERY_S="3000")
    shop.go_wrong({"fault": "reset_before_commit", **CREATE})
    await shop.pay()

    asked = [
        await service.reconciler.run_once(later(seconds))
        for seconds in (0, 900, 1100, 1900, 2100, 2900, 3100)
    ]

    assert asked == [0, 0, 1, 0, 1, 0, 1]  # after 1000 s, 2000 s, and at most 3000 s
    shop.simulator.disarm()
    assert (await shop.pay()).status == 201  # the client need not wait for that


async def test_what_another_run_has_locked_is_skipped(shop: "Shop") -> None:
    service = await shop.open()
    shop.go_wrong({"fault": "reset_before_commit", **CREATE})
    await shop.pay("key-1", "ord-1")
    await shop.pay("key-2", "ord-2")
    shop.simulator.disarm()

    locking = "select 1 from operations where key = 'key-1' for update"
    async with service.charging.store.transaction() as connection:
        await connection.exec_driver_sql(locking)
        assert await shop.reconcile() == 1

    assert await shop.status("ord-1") == "processing"
    assert await shop.status("ord-2") == "succeeded"


@pytest.mark.parametrize("fault", ["time_out_after_commit", "time_out_before_commit"])
async def test_once_the_provider_may_have_forgotten_the_key_it_is_asked_before_it_is_called(
    shop: "Shop", fault: str
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": fault, "times": 1, **CREATE})
    await shop.pay()
    shop.simulator.disarm()
    shop.simulator.advance(90_000)
    await shop.rows("update operations set created_at = now() - interval '25 hours'")

    paid = await shop.pay()

    assert paid.status == 201
    assert len(shop.real_charges()) == 1
    calls = len(shop.upstream_keys())
    assert calls == (1 if fault == "time_out_after_commit" else 2)


async def test_a_provider_that_cannot_be_asked_is_not_called_once_it_may_have_forgotten(
    shop: "Shop",
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", "times": 1, **CREATE})
    await shop.pay()
    shop.go_wrong({"fault": "error_before_commit", "operation": "charge.list"})
    await shop.rows("update operations set created_at = now() - interval '25 hours'")

    unclear = await shop.pay()

    assert unclear.status == 202
    assert len(shop.upstream_keys()) == 1


async def test_a_refund_whose_key_was_forgotten_is_not_made_twice(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    charge_id = (await shop.pay()).json["id"]
    shop.go_wrong({"fault": "time_out_after_commit", "operation": "charge.refund", "times": 1})
    await shop.refund(charge_id, amount_minor=200)
    shop.simulator.disarm()
    shop.simulator.advance(90_000)
    await shop.rows("update operations set created_at = now() - interval '25 hours'")

    refunded = await shop.refund(charge_id, amount_minor=200)
    rest = await shop.refund(charge_id, "key-2")

    assert (refunded.status, rest.status) == (201, 201)
    assert shop.refunds_minor() == [200, 300]
