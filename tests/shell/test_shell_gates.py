"""Holds: every condition, seen from the wire."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from simulator.core.messages import Until
from simulator.gates import Gates, HeldCall

if TYPE_CHECKING:
    from .conftest import World

HOLD: dict[str, object] = {"fault": "hold", "operation": "charge.create"}


async def _reason_of(world: "World", call: str) -> str:
    [entry] = await world.journal.seen("release", call=call)
    reason: str = entry.value["reason"]
    return reason


@pytest.mark.parametrize(
    "seam, charged_meanwhile",
    [("on_receive", []), ("before_commit", []), ("after_commit", ["ord-1"])],
)
async def test_a_held_call_stands_at_its_seam(
    world: "World", seam: str, charged_meanwhile: list[str]
) -> None:
    world.arm(HOLD | {"seam": seam, "until": "released"})
    answer = asyncio.ensure_future(world.charge("ord-1"))

    held = await world.hold_one()

    assert (held.seam, held.operation, held.order, held.account, held.source) == (
        seam,
        "charge.create",
        "ord-1",
        "shop",
        "provider",
    )
    assert world.charged == charged_meanwhile
    assert world.simulator.gates.held() == [held]
    assert world.simulator.gates.release(held.call)
    assert (await answer).status == 201
    assert world.charged == ["ord-1"]
    assert not world.simulator.gates.release(held.call)


async def test_elapsed_lets_go_by_itself(world: "World") -> None:
    world.arm(HOLD | {"until": "elapsed", "amount": 20})

    answer = await world.charge()

    assert answer.status == 201
    assert await _reason_of(world, "call-1") == "elapsed"


async def test_what_never_comes_true_is_capped(world: "World") -> None:
    world.arm(HOLD | {"until": "released", "at_most_ms": 20})

    answer = await world.charge()

    assert answer.status == 201
    assert await _reason_of(world, "call-1") == "cap"


@pytest.mark.parametrize("seam", ["on_receive", "before_commit"])
async def test_arrived_waits_for_another_with_the_same_wish(world: "World", seam: str) -> None:
    world.arm(HOLD | {"until": "arrived", "amount": 2, "seam": seam})
    first = asyncio.ensure_future(world.charge("ord-1", key="a"))
    await world.journal.seen("park")
    other_order = asyncio.ensure_future(world.charge("ord-2", key="b"))
    await world.journal.seen("park", count=2)
    assert len(world.simulator.gates.held()) == 2

    await world.charge("ord-1", key="c")

    assert (await first).status == 201
    assert [held.order for held in world.simulator.gates.held()] == ["ord-2"]
    assert await _reason_of(world, "call-1") == "arrived"
    other_order.cancel()


async def test_arrived_counts_who_was_not_held_at_all(world: "World") -> None:
    world.arm(HOLD | {"until": "arrived", "amount": 2, "seam": "after_commit", "times": 1})
    first = asyncio.ensure_future(world.charge("ord-1", key="a"))
    await world.hold_one()

    await world.charge("ord-1", key="b")

    assert (await first).status == 201
    assert await _reason_of(world, "call-1") == "arrived"


async def test_arrived_does_not_count_who_stands_at_an_earlier_seam(world: "World") -> None:
    world.arm(
        HOLD | {"until": "arrived", "amount": 2, "seam": "after_commit", "times": 1},
        HOLD | {"until": "released", "seam": "on_receive", "nth": 2},
    )
    first = asyncio.ensure_future(world.charge("ord-1", key="a"))
    await world.journal.seen("park")
    second = asyncio.ensure_future(world.charge("ord-1", key="b"))
    await world.journal.seen("park", count=2)
    assert [held.call for held in world.simulator.gates.held()] == ["call-1", "call-2"]

    world.simulator.gates.release("call-2")

    assert {(await first).status, (await second).status} == {201}
    assert await _reason_of(world, "call-1") == "arrived"


async def test_caller_gone_lets_go_when_the_caller_closes(world: "World") -> None:
    world.arm(HOLD | {"until": "caller_gone"})
    answer = asyncio.ensure_future(world.charge("ord-1"))
    held = await world.hold_one()

    answer.cancel()

    assert await _reason_of(world, held.call) == "caller_gone"
    assert world.charged == ["ord-1"]


async def test_a_caller_who_left_is_remembered_at_the_next_seam(world: "World") -> None:
    world.arm(
        HOLD | {"until": "released", "seam": "before_commit"},
        HOLD | {"until": "caller_gone", "seam": "after_commit"},
    )
    answer = asyncio.ensure_future(world.charge("ord-1"))
    held = await world.hold_one()
    answer.cancel()
    async with asyncio.timeout(60):
        while not held.caller_gone:
            await asyncio.sleep(0)

    world.simulator.gates.release(held.call)

    reasons = [entry.value["reason"] for entry in world.journal.find("release")]
    assert reasons == ["released", "caller_gone"]
    assert world.simulator.gates.held() == []


async def test_delivered_lets_go_when_the_shop_has_answered(world: "World") -> None:
    world.listen()
    world.arm({"fault": "deliver_before_reply", "operation": "charge.create"})

    answer = await world.charge("ord-1")

    assert answer.status == 201
    assert world.shop.events == ["evt_1"]
    assert await _reason_of(world, "call-1") == "delivered"
    [told] = world.journal.find("ok", what="attempt")
    [replied] = world.journal.find("send", what="reply")
    assert world.journal.entries.index(told) < world.journal.entries.index(replied)


async def test_delivered_ignores_the_news_of_another_order(world: "World") -> None:
    world.listen()
    world.arm(HOLD | {"until": "delivered", "order": "ord-1"})
    first = asyncio.ensure_future(world.charge("ord-1"))
    await world.hold_one()

    await world.charge("ord-2")
    await world.journal.seen("ok", what="attempt")

    assert [held.order for held in world.simulator.gates.held()] == ["ord-1"]
    first.cancel()


async def test_quiet_lets_go_when_nothing_has_moved_for_a_while(world: "World") -> None:
    world.arm(HOLD | {"until": "quiet", "amount": 20})

    answers = await asyncio.gather(world.charge("ord-1"), world.charge("ord-2"))

    assert [answer.status for answer in answers] == [201, 201]
    reasons = [entry.value["reason"] for entry in world.journal.find("release")]
    assert reasons == ["quiet", "quiet"]


async def test_whoever_watches_the_gates_acts_before_anything_else_moves(world: "World") -> None:
    world.arm(HOLD | {"until": "elapsed", "amount": 0})
    seen: list[list[str | None]] = []
    world.simulator.gates.on_park.append(lambda _: seen.append(world.charged))

    await world.charge("ord-1")

    assert seen == [[]]


async def test_whoever_watches_the_gates_acts_before_the_second_frees_the_first(
    world: "World",
) -> None:
    world.arm(HOLD | {"until": "arrived", "amount": 2})
    seen: list[tuple[int, list[str | None]]] = []
    gates = world.simulator.gates
    gates.on_park.append(lambda _: seen.append((len(gates.held()), world.charged)))

    await asyncio.gather(world.charge("ord-1", key="a"), world.charge("ord-1", key="b"))

    assert seen == [(1, []), (2, [])]
    assert world.charged == ["ord-1", "ord-1"]


async def test_whoever_watches_the_gates_may_release_at_once(world: "World") -> None:
    world.arm(HOLD | {"until": "released"})

    def let_go(held: HeldCall) -> None:
        world.simulator.gates.release(held.call)

    world.simulator.gates.on_park.append(let_go)

    assert (await world.charge("ord-1")).status == 201


async def test_releasing_all_follows_a_call_through_every_seam() -> None:
    passed: list[tuple[str, str]] = []

    def resume(held: HeldCall, reason: str) -> None:
        passed.append((held.seam, reason))
        if held.seam == "on_receive":
            gates.park(HeldCall(held.call, "after_commit", Until("released")))

    gates = Gates(resume)
    gates.park(HeldCall("call-1", "on_receive", Until("released")))

    assert gates.release_all("disarmed") == 2

    assert passed == [("on_receive", "disarmed"), ("after_commit", "disarmed")]
    assert gates.held() == []
