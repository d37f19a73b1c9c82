"""A task may be cancelled at any await. Nothing is lost by it and nothing doubled."""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from reference_impl.answers import Reply
from reference_impl.operation import Change, Intent

if TYPE_CHECKING:
    from reference_impl.service import Running
    from tests.service.conftest import Shop

TENANT = "2bbd1a6a1c1f0d4a"  # the service's own name for one: here its parts are driven directly
STEPS_AT_MOST = 200


@types.coroutine
def _cancelled_at(step: int, work: Coroutine[Any, Any, Reply]) -> Generator[Any, Any, bool]:
    """Run ``work`` and cancel it where it waits for the ``step``-th time; False if it never did."""
    waits = work.__await__()
    sent = None
    reached = 0
    while True:
        try:
            waited_for = waits.send(sent)
        except StopIteration:
            return reached >= step
        reached += 1
        if reached == step:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        try:
            sent = yield waited_for
        except asyncio.CancelledError as cancelled:
            try:
                waited_for = waits.throw(cancelled)
            except StopIteration:
                return True
            sent = yield waited_for


async def _cancel_everywhere(work: Callable[[int], Coroutine[Any, Any, Reply]]) -> int:
    """Cancel one piece of work at each of its awaits; return how many it has."""
    for step in range(1, STEPS_AT_MOST):

        async def one(step: int = step) -> bool:
            return await _cancelled_at(step, work(step))

        [ended] = await asyncio.gather(asyncio.create_task(one()), return_exceptions=True)
        if ended is False:
            return step - 1
        assert ended is True or isinstance(ended, asyncio.CancelledError)
    raise AssertionError("it never came to its end")


def _intent(step: int) -> Intent:
    return Intent(f"ord-{step}", 500, "EUR", "cus-1")


async def _healed(shop: "Shop", service: "Running") -> None:
    while await shop.reconcile():
        pass
    assert await shop.rows("select 1 from operations where status = 'in_flight'") == []
    assert service.charging.leases._held == {}


async def test_a_charge_that_is_cancelled_at_any_await_is_neither_lost_nor_doubled(
    shop: "Shop",
) -> None:
    service = await shop.open()

    steps = await _cancel_everywhere(
        lambda step: service.charging.charge(TENANT, f"key-{step}", _intent(step))
    )
    await _healed(shop, service)
    retried = [
        await service.charging.charge(TENANT, f"key-{step}", _intent(step))
        for step in range(1, steps + 1)
    ]

    assert steps > 5, "it awaits its transactions and its call"
    assert {reply.status for reply in retried} == {201}
    for step in range(1, steps + 1):
        assert len(shop.real_charges(f"ord-{step}")) == 1
    booked = await shop.rows(
        "select o.order from ledger join operations as o on ledger.charge_id = o.id"
    )
    orders = [row["order"] for row in booked]
    assert len(orders) == len(set(orders)) == steps + 1


async def test_a_refund_that_is_cancelled_at_any_await_is_neither_lost_nor_doubled(
    shop: "Shop",
) -> None:
    service = await shop.open()
    reply = await service.charging.charge(TENANT, "key", Intent("ord", 10_000, "EUR", "cus-1"))
    assert reply.status == 201
    [row] = await shop.rows("select id from operations")

    def refund(step: int) -> Coroutine[Any, Any, Reply]:
        return service.charging.change(TENANT, f"key-{step}", Change("refund", row["id"], 10))

    steps = 0
    for step in range(1, STEPS_AT_MOST):

        async def one(step: int = step) -> bool:
            return await _cancelled_at(step, refund(step))

        [ended] = await asyncio.gather(asyncio.create_task(one()), return_exceptions=True)
        await _healed(shop, service)
        assert (await refund(step)).status == 201
        if ended is False:
            steps = step
            break

    assert steps > 5
    assert shop.refunds_minor() == [10] * steps
    [booked] = await shop.rows("select count(*) as n from ledger where kind = 'refund'")
    assert booked["n"] == steps
