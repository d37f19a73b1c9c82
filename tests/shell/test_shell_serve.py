"""``serve`` as a process of its own, on both event loops: ready, at work, ended by a signal."""

import asyncio
import json
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientError, ClientPayloadError, ClientSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PROGRAM = """
import asyncio, uvloop
from simulator.server import serve
{loop}.run(serve(seed=7))
"""
CHARGE = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1"}
HEADERS = {"Authorization": "Bearer shop", "Idempotency-Key": "key-1"}

both_loops = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


class Served:
    """A simulator in a process, and a client of it."""

    def __init__(self, process: asyncio.subprocess.Process, http: ClientSession, url: str) -> None:
        self.process = process
        self.http = http
        self.url = url

    async def get(self, path: str) -> dict[str, Any]:
        async with self.http.get(self.url + path) as answer:
            data: dict[str, Any] = await answer.json()
            return data

    async def arm(self, fault: str) -> None:
        rule = {"fault": fault, "operation": "charge.create"}
        async with self.http.post(self.url + "/_sim/plan", json={"rules": [rule]}) as answer:
            assert answer.status == 200

    async def charge(self) -> bytes:
        url = self.url + "/v1/charges"
        async with self.http.post(url, json=CHARGE, headers=HEADERS) as answer:
            return await answer.read()

    async def end(self, number: signal.Signals) -> tuple[int | None, bytes, bytes]:
        """Send a signal and return the exit code and what else was printed."""
        self.process.send_signal(number)
        out, err = await asyncio.wait_for(self.process.communicate(), timeout=60)
        return self.process.returncode, out, err


@asynccontextmanager
async def serving(loop: str) -> "AsyncIterator[Served]":
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM.format(loop=loop),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), timeout=60)
        ready = json.loads(line)
        assert ready["ready"] is True
        async with ClientSession() as http:
            yield Served(process, http, ready["url"])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@both_loops
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_serve_says_that_it_is_ready_and_ends_cleanly(
    loop: str, number: signal.Signals
) -> None:
    async with serving(loop) as served:
        assert (await served.get("/_sim/ready"))["seed"] == 7

        assert await served.end(number) == (0, b"", b"")


@both_loops
async def test_serve_breaks_replies_and_ends_although_somebody_waits(loop: str) -> None:
    async with serving(loop) as served:
        await served.arm("lose_reply")
        with pytest.raises(ClientError):
            await served.charge()
        await served.arm("cut_reply")
        with pytest.raises(ClientPayloadError):
            await served.charge()
        await served.arm("time_out_after_commit")
        waiting = asyncio.ensure_future(served.charge())
        async with asyncio.timeout(60):
            while (await served.get("/_sim/plan"))["rules"][0]["fired"] == 0:
                pass

        assert await served.end(signal.SIGTERM) == (0, b"", b"")

        with pytest.raises(ClientError):
            await waiting
