"""Requests over warm connections, on real sockets: nobody is whole before everybody nearly is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from onecharge.engine.last_byte import CONNECTIONS, Connection, Together, warm_connections
from onecharge.press import Heard, Prepared
from onecharge.world.sending import send

PAY = Prepared("POST", "/pay", {"Content-Type": "application/json"}, '{"order": "ord-1"}')
PAUSE_S = 0.01
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npaid"


class Server:
    """Answers every request when it is whole, and remembers what came when, on which connection."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.served_by: list[int] = []
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        me = self.connections
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                size = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
                assert "transfer-encoding" not in head
                if size:
                    await reader.readexactly(size - 1)
                    self.happened.append("all but the last byte")
                    await reader.readexactly(1)
                    self.happened.append("whole")
                    self.served_by.append(me)
                writer.write(OK)
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    server.url = f"http://{host}:{port}"
    yield server
    listening.close()


async def pressed(
    connections: Iterator[Connection], together: Together, request: Prepared
) -> Heard:
    url, session = next(connections)
    with together.joined() as last_byte:
        return await send(session, url, request, 5.0, last_byte=last_byte)


async def test_last_bytes_leave_when_all_others_have_arrived(server: Server) -> None:
    together = Together(PAUSE_S)
    async with warm_connections([server.url], "/") as connections:
        before = server.connections
        told = await asyncio.gather(*(pressed(connections, together, PAY) for _ in range(5)))

    assert [(each.status, each.text) for each in told] == [(200, "paid")] * 5
    assert server.happened == ["all but the last byte"] * 5 + ["whole"] * 5
    assert before == server.connections == CONNECTIONS  # warm, and none opened since


async def test_every_press_takes_the_next_connection(server: Server) -> None:
    async with warm_connections([server.url], "/") as connections:
        for _ in range(2 * CONNECTIONS):
            await pressed(connections, Together(PAUSE_S), PAY)

    first, second = server.served_by[:CONNECTIONS], server.served_by[CONNECTIONS:]
    assert first == second
    assert sorted(first) == list(range(1, CONNECTIONS + 1))
    assert CONNECTIONS > 8


async def test_there_are_as_many_connections_to_every_instance(server: Server) -> None:
    async with warm_connections([server.url] * 4, "/"):
        assert server.connections == 12


async def test_who_fails_on_the_way_holds_nobody_up(server: Server) -> None:
    together = Together(PAUSE_S)
    async with warm_connections([server.url], "/") as connections:
        nobody = iter([("http://127.0.0.1:1", next(connections)[1])])
        lost, told = await asyncio.gather(
            pressed(nobody, together, PAY), pressed(connections, together, PAY)
        )

    assert lost.error is not None
    assert told.status == 200


async def test_who_has_nothing_to_keep_back_goes_with_the_others(server: Server) -> None:
    together = Together(PAUSE_S)
    empty = Prepared("POST", "/pay", {}, None)
    async with warm_connections([server.url], "/") as connections:
        told = await asyncio.gather(*(pressed(connections, together, r) for r in (empty, PAY)))

    assert [each.status for each in told] == [200, 200]


async def test_a_group_is_over_when_it_has_left(server: Server) -> None:
    together = Together(PAUSE_S)
    async with warm_connections([server.url], "/") as connections:
        for _ in range(2):
            await asyncio.gather(*(pressed(connections, together, PAY) for _ in range(2)))

    assert server.happened == [*["all but the last byte"] * 2, *["whole"] * 2] * 2
