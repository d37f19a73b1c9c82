"""Nothing is lost when the harness is killed: an effect is on disk before its answer leaves."""

import os
import signal
import sys
from asyncio import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientSession
from aiohttp.http_writer import StreamWriter

from onecharge.history import Recorder, read_history

if TYPE_CHECKING:
    from .conftest import Start

PROVIDER = """
import asyncio, sys
from pathlib import Path
from onecharge.history import Recorder
from simulator.server import Simulator

async def main():
    recorder = Recorder(Path(sys.argv[1]))
    simulator = Simulator(sink=recorder, together=recorder.together)
    await simulator.start()
    print(simulator.url(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_whoever_got_an_answer_finds_its_effect_in_the_history_of_a_killed_harness(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.jsonl"
    harness = await subprocess.create_subprocess_exec(
        sys.executable, "-c", PROVIDER, str(path), stdout=subprocess.PIPE, cwd=Path.cwd()
    )
    assert harness.stdout is not None
    url = (await harness.stdout.readline()).decode().strip()
    charge = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1"}
    headers = {"Authorization": "Bearer shop", "Idempotency-Key": "key-1"}
    async with (
        ClientSession(headers=headers) as http,
        http.post(f"{url}/v1/charges", json=charge) as answer,
    ):
        os.kill(harness.pid, signal.SIGKILL)
        charged = (await answer.json())["id"]
    await harness.wait()

    history = read_history(path)

    assert [record.what for record in history] == [
        "call",
        "charge.captured",
        "event.created",
        "reply",
    ]
    assert history[1].value["charge"] == charged


async def test_the_history_is_whole_before_the_first_byte_of_the_answer_leaves(
    start: "Start", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.jsonl"
    recorder = Recorder(path)
    world = await start(sink=recorder, together=recorder.together)
    on_disk: list[list[str]] = []
    really = StreamWriter.write

    async def watched(writer: StreamWriter, chunk: bytes) -> None:
        if chunk.startswith(b"HTTP/1.1 201"):
            on_disk.append([record.what for record in read_history(path)])
        await really(writer, chunk)

    monkeypatch.setattr(StreamWriter, "write", watched)
    await world.charge()
    recorder.close()

    assert on_disk == [["call", "charge.captured", "event.created", "reply"]]
