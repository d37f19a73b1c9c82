"""Mutants whose broken guard is the upstream key or what an answer proves."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}
LOST: dict[str, object] = {"fault": "time_out_after_commit", "times": 1, **CREATE}
QUICK = {"PROVIDER_TIMEOUT_S": "0.5"}


async def test_a_refund_with_a_key_per_attempt_is_made_twice(shop: "Shop") -> None:
    await shop.open("refund_key_per_attempt")
    paid = await shop.pay()
    shop.go_wrong({"fault": "lose_reply", "times": 1, "operation": "charge.refund"})

    assert (await shop.refund(paid.json["id"], amount_minor=100)).status == 201
    assert shop.refunds_minor() == [100, 100]


async def test_a_key_with_the_second_in_it_is_another_a_second_later(shop: "Shop") -> None:
    service = await shop.open("upstream_key_by_the_second", **QUICK)
    later = [timedelta()]
    service.charging.surroundings = replace(
        service.charging.surroundings, clock=lambda: datetime.now(UTC) + later[0]
    )
    shop.go_wrong(LOST)

    assert (await shop.pay()).status == 202
    later[0] = timedelta(seconds=2)
    assert (await shop.pay()).status == 201
    assert len(shop.real_charges()) == 2


async def test_a_key_per_process_charges_again_in_the_next_one(shop: "Shop") -> None:
    await shop.open("upstream_key_per_process", **QUICK)
    await shop.open("upstream_key_per_process", **QUICK)
    shop.go_wrong(LOST)

    assert [(await shop.pay()).status, (await shop.pay(at=1)).status] == [202, 201]
    assert len(shop.real_charges()) == 2


async def test_a_reconciler_with_its_own_key_charges_again(shop: "Shop") -> None:
    await shop.open("reconciler_with_its_own_key", **QUICK)
    shop.go_wrong(LOST)

    assert (await shop.pay()).status == 202
    assert await shop.reconcile() == 1
    assert len(shop.real_charges()) == 2


async def test_a_key_made_of_the_amount_keeps_the_second_purchase_from_settling(
    shop: "Shop",
) -> None:
    await shop.open("upstream_key_by_amount")
    await shop.pay()

    second = await shop.pay("key-2", "ord-2")
    await shop.reconcile()

    assert (second.status, await shop.status("ord-2")) == (202, "processing")
    assert shop.real_charges("ord-2") == []


async def test_a_key_that_sticks_to_the_order_locks_a_declined_customer_out(shop: "Shop") -> None:
    await shop.open("upstream_key_sticks_to_the_order")
    shop.go_wrong({"fault": "decline", "times": 1, **CREATE})
    declined = await shop.pay()

    other_card = await shop.pay("key-2")
    await shop.reconcile()

    assert (declined.status, other_card.status) == (402, 202)
    assert await shop.status() == "processing"
    assert shop.real_charges() == []


async def test_a_server_error_that_is_recorded_as_failed_is_a_lie(shop: "Shop") -> None:
    await shop.open("server_error_recorded_as_failed")
    shop.go_wrong({"fault": "error_after_commit", "times": 1, **CREATE})

    assert (await shop.pay()).status == 402
    assert len(shop.real_charges()) == 1


async def test_what_was_said_to_have_failed_is_charged_afterwards(shop: "Shop") -> None:
    await shop.open("failed_said_and_tried_again", **QUICK)
    shop.go_wrong({"fault": "time_out_before_commit", "times": 1, **CREATE})

    assert (await shop.pay()).status == 402
    assert shop.real_charges() == []
    await shop.reconcile()
    assert len(shop.real_charges()) == 1


async def test_a_lost_call_that_goes_to_the_backup_charges_twice(shop: "Shop") -> None:
    await shop.open("lost_call_goes_to_the_backup")
    shop.go_wrong({"fault": "lose_reply", "times": 1, **CREATE})

    assert (await shop.pay()).status == 201
    assert len(shop.real_charges()) == 2


async def test_what_is_absent_may_still_come_although_it_was_called_failed(shop: "Shop") -> None:
    await shop.open("reconciler_takes_absent_for_never", **QUICK)
    shop.go_wrong({"fault": "hold", "until": "released", "seam": "before_commit", **CREATE})
    unclear = await shop.pay()

    await shop.reconcile()
    told = await shop.pay()
    shop.simulator.disarm()
    async with asyncio.timeout(60):
        while not shop.real_charges():
            await asyncio.sleep(0.01)

    assert (unclear.status, told.status, await shop.status()) == (202, 402, "failed")


async def test_a_job_that_is_done_goes_on_calling(shop: "Shop") -> None:
    await shop.open("finished_job_runs_again", **QUICK)
    shop.go_wrong(LOST)
    await shop.pay()

    await shop.reconcile()

    assert await shop.status() == "succeeded"
    async with asyncio.timeout(60):
        while len(shop.upstream_keys()) < 5:
            await asyncio.sleep(0.01)
    assert len(shop.real_charges()) == 1
