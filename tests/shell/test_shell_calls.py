"""Calls over real sockets: answered, broken, held, abandoned."""

import asyncio
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientError, ClientPayloadError, ClientSession

from simulator.dialects.generic import IETF
from simulator.server import Simulator
from simulator.wire import BODY_LIMIT_BYTES

if TYPE_CHECKING:
    from .conftest import Start, World

CHARGE = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1", "customer": "cus-1"}
RAW_CHARGE = (
    b"POST /v1/charges HTTP/1.1\r\nHost: provider\r\nAuthorization: Bearer shop\r\n"
    b"Idempotency-Key: key-1\r\nContent-Type: application/json\r\nContent-Length: 58\r\n\r\n"
    b'{"amount_minor":500,"currency":"EUR","reference":"ord-1" }'
)


async def test_a_charge_is_made_and_shown(world: "World") -> None:
    made = await world.charge("ord-1")

    shown = await world.call(
        "GET", f"/v1/charges/{made.data['id']}", headers={"Authorization": "Bearer shop"}
    )

    assert (made.status, shown.status) == (201, 200)
    assert shown.data == made.data
    assert world.charged == ["ord-1"]


async def test_a_list_is_asked_for_by_query(world: "World") -> None:
    await world.charge("ord 1/é", key="key-1")

    found = await world.call(
        "GET",
        "/v1/charges?reference=ord%201%2F%C3%A9",
        headers={"Authorization": "Bearer shop"},
    )

    assert [charge["reference"] for charge in found.data["data"]] == ["ord 1/é"]


async def test_the_same_key_is_a_replay(world: "World") -> None:
    first = await world.charge("ord-1")

    second = await world.charge("ord-1")

    assert second.data == first.data
    assert second.headers["Idempotent-Replayed"] == "true"
    assert world.charged == ["ord-1"]


async def test_each_socket_has_a_name_and_the_journal_says_it(start: "Start") -> None:
    world = await start(ports={"one": 0, "two": 0})
    for name in ("one", "two"):
        async with world.http.get(f"{world.simulator.url(name)}/v1/charges") as answer:
            assert answer.status == 401

    sources = [entry.value["source"] for entry in world.journal.find("receive")]

    assert sources == ["one", "two"]
    assert world.simulator.url("one") != world.simulator.url("two")


async def test_a_lost_reply_is_a_reset_and_still_committed_the_charge(world: "World") -> None:
    world.arm({"fault": "lose_reply", "operation": "charge.create"})

    with pytest.raises(ClientError):
        await world.charge("ord-1")

    assert world.charged == ["ord-1"]
    assert world.simulator.fired() == {"lose_reply": 1}


async def test_a_lost_reply_ends_with_rst_before_any_byte(world: "World") -> None:
    world.arm({"fault": "lose_reply", "operation": "charge.create"})
    reader, writer = await _connect(world)
    writer.write(RAW_CHARGE)

    with pytest.raises(ConnectionResetError):
        await reader.read(1)

    writer.close()


async def test_a_cut_reply_has_a_head_and_half_a_body(world: "World") -> None:
    world.arm({"fault": "cut_reply", "operation": "charge.create"})
    url = world.simulator.url() + "/v1/charges"
    headers = {"Authorization": "Bearer shop", "Idempotency-Key": "key-1"}

    async with world.http.post(url, json=CHARGE, headers=headers) as answer:
        assert answer.status == 201
        with pytest.raises(ClientPayloadError):
            await answer.read()

    assert world.charged == ["ord-1"]


async def test_silence_lasts_until_the_caller_gives_up(world: "World") -> None:
    world.arm({"fault": "time_out_after_commit", "operation": "charge.create"})

    reader, writer = await _connect(world)
    writer.write(RAW_CHARGE)
    await world.journal.seen("drop", how="silence")
    assert world.charged == ["ord-1"]
    writer.write_eof()

    assert await reader.read() == b""
    writer.close()


async def test_disarming_ends_silence_and_holds(world: "World") -> None:
    world.arm(
        {"fault": "time_out_after_commit", "operation": "charge.create", "order": "silent"},
        {"fault": "hold", "operation": "charge.create", "order": "held", "until": "released"},
    )
    silent = asyncio.ensure_future(world.charge("silent"))
    held = asyncio.ensure_future(world.charge("held"))
    await world.journal.seen("drop", how="silence")
    await world.hold_one()

    world.simulator.disarm()

    assert world.charged == ["silent", "held"]
    assert world.simulator.fired() == {"time_out_after_commit": 1, "hold": 1}
    assert (await held).status == 201
    with pytest.raises(ClientError):
        await silent


async def test_a_caller_killed_while_held_does_not_stop_the_charge(world: "World") -> None:
    world.arm({"fault": "hold", "operation": "charge.create", "until": "released"})
    _, writer = await _connect(world)
    writer.write(RAW_CHARGE)
    held = await world.hold_one()
    writer.transport.abort()
    assert world.charged == []

    assert world.simulator.gates.release(held.call)

    assert world.charged == ["ord-1"]
    assert world.journal.find("send", what="reply", status=201)


async def test_stopping_ends_every_call(start: "Start") -> None:
    world = await start()
    world.arm(
        {"fault": "hold", "operation": "charge.create", "order": "held", "until": "released"},
        {"fault": "time_out_before_commit", "operation": "charge.create", "order": "silent"},
    )
    calls = [asyncio.ensure_future(world.charge(order)) for order in ("held", "silent")]
    await world.hold_one()
    await world.journal.seen("drop", how="silence")

    await world.simulator.stop()

    held, silent = await asyncio.gather(*calls, return_exceptions=True)
    assert world.charged == ["held"]
    assert not isinstance(held, BaseException)
    assert isinstance(silent, ClientError)


async def test_a_body_too_large_is_413_in_the_dialects_words(world: "World") -> None:
    url = world.simulator.url() + "/v1/charges"

    async with world.http.post(url, data=BytesIO(b" " * (BODY_LIMIT_BYTES + 1))) as answer:
        assert answer.status == 413
        assert answer.content_type == "application/problem+json"


async def test_who_expects_100_continue_gets_it(world: "World") -> None:
    head, _, body = RAW_CHARGE.partition(b"\r\n\r\n")
    reader, writer = await _connect(world)

    writer.write(head + b"\r\nExpect: 100-continue\r\n\r\n")
    assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
    await reader.readline()
    writer.write(body)

    assert await reader.readline() == b"HTTP/1.1 201 Created\r\n"
    writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /v1/charges/%ff%00%zz?%ff=%zz&&=&a HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET /v1/charges/\xff\xfe HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET http://[::1/ HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET http://elsewhere/v1/charges HTTP/1.1\r\nHost: p\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: p\r\n\r\n",
        b"CONNECT provider:80 HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET /v1/charges HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
        RAW_CHARGE.replace(b"key-1", b"key-\xff"),
        RAW_CHARGE.replace(b"key-1", b"key-1\r\nIdempotency-Key: key-2"),
        RAW_CHARGE.replace(b"ord-1", b"\xff\xfe\xfd--"),
        RAW_CHARGE.replace(b'"ord-1"', b"[[[[[[["),
        RAW_CHARGE.replace(b"Content-Length: 58", b"Content-Encoding: gzip\r\nContent-Length: 58"),
        RAW_CHARGE.replace(b"Content-Length: 58", b"Content-Length: -1"),
        RAW_CHARGE.replace(b"Content-Length: 58", b"Transfer-Encoding: chunked"),
        b"GET /_sim/held/%ff%2f/release HTTP/1.1\r\nHost: p\r\n\r\n",
        b"GET /_sim/journal?from=%ff HTTP/1.1\r\nHost: p\r\n\r\n",
    ],
)
async def test_nothing_a_stranger_sends_is_answered_with_5xx(world: "World", sent: bytes) -> None:
    reader, writer = await _connect(world)
    writer.write(sent)

    head = await asyncio.wait_for(reader.readline(), timeout=60)

    assert head.startswith((b"HTTP/1.1 2", b"HTTP/1.1 4", b"HTTP/1.0 4")), head
    writer.close()
    assert (await world.charge("ord-9")).status == 201


async def test_a_body_that_never_comes_to_its_end_is_no_call(world: "World") -> None:
    _, writer = await _connect(world)
    writer.write(RAW_CHARGE[:-10])
    await writer.drain()
    writer.transport.abort()

    assert (await world.charge("ord-9")).status == 201
    assert world.charged == ["ord-9"]


def test_a_dialect_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="there are generic"):
        Simulator(dialect="generous")


async def test_a_port_that_is_taken_is_said_and_leaves_nothing_open(world: "World") -> None:
    taken = int(world.simulator.url().rpartition(":")[2])
    second = Simulator()

    with pytest.raises(OSError, match="in use"):
        await second.start(ports={"free": 0, "taken": taken})

    assert second.urls == {}


async def test_after_a_reset_everything_begins_again(world: "World") -> None:
    world.arm({"fault": "hold", "operation": "charge.create", "until": "released"})
    held = asyncio.ensure_future(world.charge("ord-1"))
    await world.hold_one()

    await world.simulator.reset(seed=7)

    assert (await held).status == 201
    assert world.charged == []
    assert (await world.charge("ord-2")).data["id"] == "ch_1"
    assert world.simulator.provider.seed == 7


async def test_many_callers_are_answered_at_once(world: "World") -> None:
    async with ClientSession() as other:
        world.http = other
        answers = await asyncio.gather(*(world.charge(f"ord-{n}") for n in range(50)))

    assert {answer.status for answer in answers} == {201}
    assert len(world.charged) == 50


async def _connect(world: "World") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = world.simulator.url().removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def test_a_call_that_waits_for_another_is_answered_with_it(world: "World") -> None:
    world.simulator.provider._keys.policy = replace(IETF, in_flight="wait")
    world.arm({"fault": "hold", "seam": "before_commit", "until": "released", "times": 1})

    calls = [asyncio.create_task(world.charge("ord-1")) for _ in range(3)]
    await world.journal.seen("park", 2, condition="first_done")
    assert [held.call for held in world.simulator.gates.held()] == ["call-1"]
    world.simulator.gates.release("call-1")

    answers = await asyncio.gather(*calls)
    assert [answer.status for answer in answers] == [201, 201, 201]
    assert [answer.headers.get("Idempotent-Replayed") for answer in answers].count("true") == 2
    assert world.charged == ["ord-1"]


async def test_a_call_that_waits_counts_as_arrived(world: "World") -> None:
    world.simulator.provider._keys.policy = replace(IETF, in_flight="wait")
    world.arm({"fault": "hold", "until": "arrived", "amount": 2, "times": 1})

    answers = await asyncio.gather(*(world.charge("ord-1") for _ in range(2)))

    assert [answer.status for answer in answers] == [201, 201]
    [released] = world.journal.find("release", reason="arrived")
    assert released.order == "ord-1"


async def test_a_call_that_waited_can_be_held_in_its_turn(world: "World") -> None:
    world.simulator.provider._keys.policy = replace(IETF, in_flight="wait")
    world.arm(
        {"fault": "hold", "until": "released", "times": 1},
        {"fault": "reset_before_commit", "times": 1},
        {"fault": "hold", "name": "again", "until": "released", "times": 1},
    )
    first = asyncio.create_task(world.charge("ord-1"))
    await world.journal.seen("park")
    second = asyncio.create_task(world.charge("ord-1"))
    await world.journal.seen("park", 2)

    world.simulator.gates.release("call-1")
    with pytest.raises(ClientError):
        await first
    assert [held.call for held in world.simulator.gates.held()] == ["call-2"]
    world.simulator.gates.release("call-2")

    assert (await second).status == 201
