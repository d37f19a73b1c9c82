"""Whatever is sent: an answer of the 4xx in the dialect's own words, and the next call works."""

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import World

AUTH = b"Host: x\r\nAuthorization: Bearer shop\r\nIdempotency-Key: k\r\n"


def posted(body: bytes, headers: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body)
    return b"POST /v1/charges HTTP/1.1\r\n" + AUTH + headers + length + b"\r\n" + body


async def raw(world: "World", sent: bytes) -> tuple[int, bytes]:
    """Send bytes, and return status and body of the answer."""
    port = int(world.simulator.url().rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        [length] = [int(line[15:]) for line in lines if line.startswith("content-length:")]
        body = await reader.readexactly(length)
    writer.close()
    return int(lines[0].split()[1]), body


HOSTILE = {
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a method that is none": b"G@T /v1/charges HTTP/1.1\r\nHost: x\r\n\r\n",
    "a version that is none": b"GET /v1/charges HTTP/9.9.9\r\nHost: x\r\n\r\n",
    "a line without end": b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 40_000 + b"\r\n\r\n",
    "a header without colon": b"GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
    "two lengths": posted(b"{}", b"Content-Length: 7\r\n"),
    "a negative length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "chunks that are none": b"POST /v1/charges HTTP/1.1\r\n"
    + AUTH
    + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a method nobody knows": b"BREW /v1/charges HTTP/1.1\r\nHost: x\r\n\r\n",
    "a path nobody knows": b"GET /%00/../%ff%fe/;?x=%ud800#y HTTP/1.1\r\n" + AUTH + b"\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "another host's URL": b"GET http://elsewhere/v1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no body": posted(b""),
    "no JSON": posted(b"{"),
    "no UTF-8": posted(b'{"reference":"\xff\xfe"}'),
    "a lone surrogate": posted(b'{"amount_minor":1,"currency":"EUR","reference":"\\ud800"}'),
    "a lone surrogate in metadata": posted(
        b'{"amount_minor":1,"currency":"EUR","metadata":{"\\udfff":"a"}}'
    ),
    "a lone surrogate in a field's name": posted(b'{"amount_minor":1,"\\ud800":1}'),
    "deep nesting": posted(b"[" * 30_000),
    "deeper objects": posted(b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    "a number without end": posted(b'{"amount_minor":' + b"9" * 6_000 + b"}"),
    "not a number": posted(b'{"amount_minor":NaN,"currency":"EUR"}'),
    "wrong types": posted(b'{"amount_minor":"1","currency":["EUR"]}'),
    "null": posted(b"null"),
    "a key of strange characters": b"POST /v1/charges HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer shop\r\nIdempotency-Key: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "a token of strange characters": b"GET /v1/charges HTTP/1.1\r\nHost: x\r\n"
    b"Authorization: Bearer \xff\r\n\r\n",
    "strange faults": posted(b"{}", b"Onecharge-Faults: \xff\xfe\r\n") + b"",
    "a body larger than anybody reads": posted(b"x" * 2_000_000),
}


@pytest.mark.parametrize("sent", HOSTILE.values(), ids=HOSTILE)
async def test_what_is_sent_badly_is_a_problem_in_the_dialects_words(
    world: "World", sent: bytes
) -> None:
    status, body = await raw(world, sent)

    assert 400 <= status < 500
    problem = json.loads(body)
    assert problem["status"] == status
    assert problem["code"]
    for entry in world.journal.entries:
        json.dumps([entry.order, entry.tenant, entry.key, dict(entry.value)]).encode()
        str([entry.order, entry.tenant, entry.key, entry.value]).encode()
    assert (await world.charge("after")).status == 201


async def test_a_head_that_stops_half_way_stops_nobody_else(world: "World") -> None:
    port = int(world.simulator.url().rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /v1/charges HTTP/1.1\r\nHos")

    assert (await world.charge("ord-1")).status == 201

    writer.close()


@pytest.mark.parametrize(
    "path", ["/_sim/plan", "/_sim/events/forge", "/_sim/seed", "/_sim/endpoints", "/_sim/reset"]
)
@pytest.mark.parametrize(
    "body",
    [
        b'{"seed":"\\ud800"}',
        b'{"type":"\\ud800"}',
        b'{"seed":1e999}',
        b'{"rules":[{"fault":"\\ud800"}]}',
        b'{"rules":[{"fault":"hold","amount":NaN}]}',
        b"[" * 30_000,
        b"\xff",
        b'{"seed":' + b"9" * 6_000 + b"}",
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
async def test_the_control_answers_nonsense_as_a_problem(
    world: "World", path: str, body: bytes
) -> None:
    async with world.http.post(world.simulator.url() + path, data=body) as answer:
        assert answer.status in (400, 422)
        assert answer.content_type == "application/problem+json"
        json.loads(await answer.read())
