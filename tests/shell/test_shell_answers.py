"""Answers on the wire: what we write ourselves is what aiohttp would have written."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from multidict import CIMultiDict

from simulator import wire
from simulator.core.messages import HttpReply

JSON = (("content-type", "application/json"),)
REPLIES = {
    "created": HttpReply(201, JSON, b'{"id":"ch_1"}'),
    "replayed": HttpReply(402, (*JSON, ("Idempotent-Replayed", "true")), b"{}"),
    "nothing in it": HttpReply(200, JSON),
    "of no type": HttpReply(200, (), b"?"),
    "a status of nobody": HttpReply(599, JSON, b"{}"),
    "no content": HttpReply(204, JSON),
    "not modified": HttpReply(304, JSON, b"{}"),
    "a length of its own": HttpReply(200, (*JSON, ("Content-Length", "2")), b"{}"),
    "a farewell": HttpReply(200, (*JSON, ("Connection", "close")), b"{}"),
    "two of a name": HttpReply(200, (*JSON, ("x-a", "1"), ("x-a", "\u00e9")), b"{}"),
    "large": HttpReply(200, JSON, b"x" * 300_000),
}
TWO_IN_ONE = HttpReply(200, (*JSON, ("x-a", "1\r\nx-b: 2")), b"{}")
REQUESTS = {
    "usual": "GET /{} HTTP/1.1\r\nHost: x\r\n\r\n",
    "for the head": "HEAD /{} HTTP/1.1\r\nHost: x\r\n\r\n",
    "the last one": "GET /{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "old": "GET /{} HTTP/1.0\r\n\r\n",
    "old, to be continued": "GET /{} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
}
THE_END = "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Serve every reply twice: as we answer, and as aiohttp does."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        _, whose, *name = request.path.split("/")
        reply = REPLIES.get(name[0], TWO_IN_ONE) if name else HttpReply(200, JSON, b"the end")
        if whose == "ours":
            return await wire.answer(request, reply)
        headers = CIMultiDict(reply.headers)
        return web.Response(status=reply.status, headers=headers, body=reply.body)

    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def answered(port: int, request: str) -> bytes:
    """Return everything that comes back for a request and one more, but for the time of day."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((request + THE_END).encode())
    everything = await reader.read()
    writer.close()
    return re.sub(rb"Date: .*\r\n", b"Date: today\r\n", everything)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("name", REPLIES)
async def test_our_answer_is_byte_for_byte_that_of_aiohttp(
    port: int, name: str, request_: str
) -> None:
    path = name.replace(" ", "%20")

    ours = await answered(port, request_.format(f"ours/{path}"))
    theirs = await answered(port, request_.format(f"theirs/{path}"))

    assert ours == theirs
    assert ours.startswith(b"HTTP/1.")


async def test_a_header_that_would_be_two_never_leaves(port: int) -> None:
    assert await answered(port, REQUESTS["usual"].format("ours/two")) == b""
