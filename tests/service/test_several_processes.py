import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

HELD: dict[str, object] = {"fault": "hold", "operation": "charge.create", "until": "released"}


async def test_two_processes_asked_at_once_make_one_charge(shop: "Shop") -> None:
    await asyncio.gather(shop.spawn(), shop.spawn())
    shop.go_wrong({**HELD, "seam": "before_commit"})
    racing = [asyncio.create_task(shop.pay(at=process % 2)) for process in range(8)]
    await shop.parked()
    _, losing = await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)

    shop.simulator.disarm()
    seen = await asyncio.gather(*racing)

    assert losing, "somebody was at work while another was refused"
    # A loser that asks late, when the winner has its answer, gets that same answer.
    assert {answer.status for answer in seen} <= {201, 409}
    assert len({answer.body for answer in seen if answer.status == 201}) == 1
    assert shop.real_charges() == ["ch_1"]
    assert len(shop.upstream_keys()) == 1
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize("seam", ["on_receive", "before_commit", "after_commit"])
async def test_what_a_killed_process_leaves_behind_is_repaired_by_the_reconciler(
    shop: "Shop", seam: str
) -> None:
    killed = await shop.spawn()
    shop.go_wrong({**HELD, "seam": seam})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    shop.supervisor.kill(killed)
    await shop.supervisor.exited(killed)
    await asyncio.gather(paying, return_exceptions=True)
    shop.simulator.disarm()
    await shop.open()
    [left_behind] = await shop.rows("select status, upstream_key from operations")
    reconciled = await shop.reconcile()

    assert left_behind["status"] == "in_flight"
    assert reconciled == 1
    assert await shop.status(at=1) == "succeeded"
    assert set(shop.upstream_keys()) == {left_behind["upstream_key"]}
    assert len(shop.real_charges()) == 1
    assert await shop.credits_minor(at=1) == [500]
    assert (await shop.pay(at=1)).status == 201


async def test_a_dead_owner_is_overtaken_by_the_retry_once_its_lease_is_over(
    shop: "Shop",
) -> None:
    killed = await shop.spawn()
    shop.go_wrong({**HELD, "seam": "after_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()
    shop.supervisor.kill(killed)
    await shop.supervisor.exited(killed)
    await asyncio.gather(paying, return_exceptions=True)
    shop.simulator.disarm()
    await shop.open()

    within_the_lease = await shop.pay(at=1)
    await shop.rows("update operations set lease_until = now()")
    after_it = await shop.pay(at=1)

    assert within_the_lease.status == 409
    assert after_it.status == 201
    assert shop.real_charges() == ["ch_1"]


async def test_a_late_owner_changes_nothing(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({**HELD, "seam": "before_commit", "times": 1})
    late = asyncio.create_task(shop.pay())
    await shop.parked()
    await shop.rows("update operations set lease_token = lease_token + 1")

    shop.simulator.disarm()
    overtaken = await late

    assert (overtaken.status, overtaken.json["status"]) == (202, "processing")
    assert await shop.status() == "processing"
    assert await shop.credits_minor() == []
    assert await shop.reconcile() == 1  # the owner who overtook finds the same charge
    assert await shop.credits_minor() == [500]
    assert shop.real_charges() == ["ch_1"]


async def test_reconcilers_that_run_at_once_share_the_work(shop: "Shop") -> None:
    await shop.open()
    await shop.open()
    shop.go_wrong({"fault": "reset_before_commit", "operation": "charge.create"})
    for number in range(4):
        await shop.pay(f"key-{number}", f"ord-{number}")
    shop.simulator.disarm()

    seen = await asyncio.gather(*(shop.reconcile(service=service) for service in (0, 1, 0, 1)))

    assert sum(seen) == 4
    for number in range(4):
        assert len(shop.real_charges(f"ord-{number}")) == 1
    assert await shop.credits_minor() == [500] * 4


async def test_a_process_that_is_asked_to_stop_ends_what_it_began(shop: "Shop") -> None:
    stopped = await shop.spawn()
    shop.go_wrong({**HELD, "seam": "after_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    stopping = asyncio.create_task(shop.supervisor.stop(stopped))
    shop.simulator.disarm()

    assert (await paying).status == 201
    assert await stopping == 0
    [row] = await shop.rows("select status from operations")
    assert row["status"] == "succeeded"
