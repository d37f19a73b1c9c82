"""Webhooks over real sockets: signed, repeated, retried."""

import asyncio
from typing import TYPE_CHECKING

from .conftest import SECRET

if TYPE_CHECKING:
    from .conftest import Start, World

REDELIVER: dict[str, object] = {
    "fault": "redeliver",
    "operation": "delivery.charge.captured",
    "copies": 3,
}


async def test_an_event_is_delivered_and_its_signature_verifies(world: "World") -> None:
    world.listen()

    await world.charge("ord-1")

    await world.journal.seen("ok", what="attempt", event="evt_1")
    assert (world.shop.events, world.shop.genuine) == (["evt_1"], [True])
    assert world.simulator.undelivered() == 0


async def test_copies_one_by_one_never_meet(world: "World") -> None:
    world.listen()
    world.arm(REDELIVER | {"mode": "sequential"})

    await world.charge("ord-1")

    await world.journal.seen("ok", count=3, what="attempt")
    assert world.shop.events == ["evt_1"] * 3
    assert world.shop.most_at_once == 1
    assert world.simulator.undelivered() == 0


async def test_copies_at_once_are_under_way_together(world: "World") -> None:
    world.listen()
    all_three = asyncio.Barrier(3)
    world.shop.before_answer = all_three.wait  # nobody is answered before all have come
    world.arm(REDELIVER | {"mode": "concurrent"})

    await world.charge("ord-1")

    await world.journal.seen("ok", count=3, what="attempt")
    assert world.shop.events == ["evt_1"] * 3
    assert world.shop.most_at_once == 3


async def test_a_wrong_signature_is_seen_as_wrong_and_the_right_one_follows(
    world: "World",
) -> None:
    world.listen()
    world.shop.statuses = [401]
    world.arm({"fault": "wrong_signature", "operation": "delivery", "attempts": 1})
    await world.charge("ord-1")
    await world.journal.seen("fail", what="attempt", status=401)
    assert world.simulator.undelivered() == 1

    world.simulator.advance(6)

    await world.journal.seen("ok", what="attempt")
    assert world.shop.genuine == [False, True]


async def test_a_redirect_is_not_followed_and_no_acknowledgement(world: "World") -> None:
    world.listen()
    world.shop.statuses = [307]

    await world.charge("ord-1")

    await world.journal.seen("fail", what="attempt", status=307)
    assert world.shop.events == ["evt_1"]


async def test_a_shop_that_is_not_there_is_told_when_it_is(world: "World") -> None:
    world.simulator.add_endpoint("http://127.0.0.1:9/nobody", SECRET)

    await world.charge("ord-1")

    [entry] = await world.journal.seen("unknown", what="attempt")
    assert "9" in entry.value["error"]


async def test_a_shop_that_does_not_answer_in_time_may_have_read_it(start: "Start") -> None:
    world = await start(delivery_timeout_s=0.05)
    world.listen()
    world.shop.before_answer = asyncio.Event().wait

    await world.charge("ord-1")

    [entry] = await world.journal.seen("unknown", what="attempt")
    assert entry.value["error"] == "timed out after 0.05 s"
    assert world.shop.events in ([], ["evt_1"])  # a busy shop has not come to read it


async def test_an_address_that_is_none_is_no_answer(world: "World") -> None:
    world.simulator.add_endpoint("http://127.0.0.1:99999/", SECRET)

    await world.charge("ord-1")

    await world.journal.seen("unknown", what="attempt")


async def test_nobody_is_told_once_the_endpoints_are_cleared(world: "World") -> None:
    world.listen()
    world.simulator.clear_endpoints()

    await world.charge("ord-1")

    assert world.simulator.undelivered() == 0
    assert world.journal.find("send", what="attempt") == []


async def test_virtual_time_runs_faster_where_it_is_told_to(start: "Start") -> None:
    world = await start(time_scale=1000.0)
    world.listen()
    world.shop.statuses = [500]

    await world.charge("ord-1")

    await world.journal.seen("ok", what="attempt")
    assert world.shop.events == ["evt_1", "evt_1"]


async def test_resending_delivers_once_more_under_the_old_id(world: "World") -> None:
    world.listen()
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")

    world.simulator.resend("evt_1")

    await world.journal.seen("ok", count=2, what="attempt")
    assert world.shop.events == ["evt_1", "evt_1"]


async def test_what_waits_for_its_time_can_be_sent_sooner_while_time_stands_still(
    start: "Start",
) -> None:
    world = await start(time_scale=0.001)  # the five seconds until the next attempt are hours
    world.listen()
    world.shop.statuses = [503]
    await world.charge("ord-1")
    await world.journal.seen("fail", what="attempt", status=503)

    waits_until_s = world.simulator.provider.next_wakeup()
    world.simulator.hasten_deliveries()

    assert waits_until_s is not None
    assert waits_until_s > world.simulator.clock.now()  # else there was nothing to hasten
    await world.journal.seen("ok", what="attempt", event="evt_1")
    assert world.simulator.undelivered() == 0


async def test_an_attempt_goes_where_the_route_leads_and_is_recorded_as_for_its_endpoint(
    start: "Start",
) -> None:
    routed: list[str] = []

    def route(url: str) -> str:
        routed.append(url)
        return world.shop.url

    world = await start(route=route)
    world.simulator.add_endpoint("http://service.invalid/webhooks", SECRET)

    await world.charge("ord-1")

    await world.journal.seen("ok", what="attempt", event="evt_1")
    assert routed == ["http://service.invalid/webhooks"]
    assert world.journal.find("send", url="http://service.invalid/webhooks")
    assert world.shop.genuine == [True]


async def test_an_endpoint_that_answers_and_never_reads_the_rest_ends_the_attempt(
    start: "Start",
) -> None:
    async def answer_and_stay(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await done.wait()
        writer.close()

    done = asyncio.Event()
    world = await start(delivery_timeout_s=0.5)
    server = await asyncio.start_server(answer_and_stay, "127.0.0.1", 0, limit=1024)
    host, port = server.sockets[0].getsockname()
    world.simulator.add_endpoint(f"http://{host}:{port}/webhooks", SECRET)
    world.arm({"fault": "oversized_event", "operation": "delivery.charge.captured"})

    await world.charge("ord-1")

    await world.journal.seen("fail", what="attempt", status=413)
    assert world.simulator.attempts_under_way() == 0
    done.set()
    server.close()
