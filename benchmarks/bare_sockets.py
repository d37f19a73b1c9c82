"""Clients and a provider in a few lines on bare sockets.

They run on the same cores as what is measured, and whatever they cost would be taken for its cost.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable
from itertools import count
from uuid import uuid4

ALONE = 300
NOTHING_FOUND = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":[]}'
)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Messages(asyncio.Protocol):
    """HTTP messages with a body, taken off a socket one by one."""

    def __init__(self, heard: Callable[["Messages", bytes], None]) -> None:
        self.heard = heard
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.buffer, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            message, self.buffer = self.buffer[:whole], self.buffer[whole:]
            self.heard(self, message)


def provide(port: int) -> None:
    """Run a provider that captures whatever it is asked for, at once."""
    serial = count(1)
    name = uuid4().hex[:8]

    def answer(to: Messages, message: bytes) -> None:
        if message.startswith(b"GET"):  # a look-up, after a call that took too long
            to.transport.write(NOTHING_FOUND)
            return
        asked = json.loads(message[message.index(b"\r\n\r\n") :])
        charge = {
            "id": f"ch_{name}_{next(serial)}",
            "status": "captured",
            "captured_minor": asked["amount_minor"],
        }
        body = json.dumps(asked | charge).encode()
        head = (
            b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        to.transport.write(head % len(body) + body)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Messages(answer), "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


async def load(port: int, clients: int, seconds: float) -> float:
    """Send charges over so many connections for so long; return charges a second."""
    done = 0
    ends = time.monotonic() + seconds
    serial = count(1)
    name = uuid4().hex[:8]
    finished = [asyncio.Event() for _ in range(clients)]

    def next_or_end(to: Messages, message: bytes, over: asyncio.Event) -> None:
        nonlocal done
        assert message.startswith(b"HTTP/1.1 201"), message
        done += 1
        if time.monotonic() < ends:
            to.transport.write(charge_request(f"{name}-{next(serial)}"))
        else:
            to.transport.close()
            over.set()

    loop = asyncio.get_running_loop()
    began = time.monotonic()
    for over in finished:
        transport, _ = await loop.create_connection(
            lambda over=over: Messages(lambda to, message: next_or_end(to, message, over)),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        transport.write(charge_request(f"{name}-{next(serial)}"))
    for over in finished:
        await over.wait()
    return done / (time.monotonic() - began)


async def alone(port: int, request: Callable[[str], bytes]) -> list[float]:
    """Send one request after the other; return how long each took, in milliseconds."""
    answered = asyncio.Event()
    transport, _ = await asyncio.get_running_loop().create_connection(
        lambda: Messages(lambda _to, _message: answered.set()), "127.0.0.1", port
    )
    name, took_ms = uuid4().hex[:8], []
    for number in range(ALONE):
        began = time.perf_counter()
        transport.write(request(f"{name}-{number}"))
        await answered.wait()
        answered.clear()
        took_ms.append((time.perf_counter() - began) * 1000)
    transport.close()
    return took_ms


def charge_request(order: str) -> bytes:
    intent = {"order": order, "amount_minor": 500, "currency": "EUR", "customer": "cus-1"}
    return _post("/charges", order, intent)


def provider_request(order: str) -> bytes:
    wish = {"reference": order, "amount_minor": 500, "currency": "EUR", "customer": "cus-1"}
    return _post("/v1/charges", order, wish | {"metadata": {"charge_id": "pay_1"}})


def _post(path: str, key: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer shop\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
