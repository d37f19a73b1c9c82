"""A reconciler that somebody must start is started again and again, and then no more."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import ClientSession, web

from onecharge.history.recorder import Recorder
from onecharge.service_file import ServiceFile
from onecharge.world.attached import AttachedService
from onecharge.world.ticking import ticking
from onecharge.world.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FILE: dict[str, Any] = {
    "provider": {"dialect": "generic", "listen": "127.0.0.1:12111"},
    "charge": {"path": "/charges"},
    "capabilities": {"webhooks": False, "read_back": False, "effects": False},
}


def has_run(folder: Path) -> bool:
    return (folder / "ran").exists()


class Ticked:
    """A service that counts how often its reconciler was started."""

    def __init__(self) -> None:
        self.times = 0
        self.twice = asyncio.Event()
        self.status = 200

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        assert (request.method, request.path) == ("POST", "/reconcile")
        self.times += 1
        if self.times == 2:
            self.twice.set()
        return web.Response(status=self.status)


@asynccontextmanager
async def world_with(
    ticked: Ticked, folder: Path, **tick: Any
) -> "AsyncIterator[tuple[World, Recorder]]":
    runner = web.ServerRunner(web.Server(ticked))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    service = {"name": "shop", "urls": [url]}
    file = ServiceFile.model_validate({**FILE, "service": service, "tick": tick})
    home = file.service.model_copy(update={"folder": folder})
    file = file.model_copy(update={"service": home})
    world = World(file, folder, seed=1)
    world.services = AttachedService(file.service, ready="/")
    try:
        async with ClientSession() as world.session:
            yield world, Recorder()
    finally:
        await runner.cleanup()


async def test_a_request_is_made_again_and_again_and_then_no_more(tmp_path: Path) -> None:
    ticked = Ticked()
    tick = {"method": "POST", "path": "/reconcile", "every_s": 0.001}
    async with world_with(ticked, tmp_path, **tick) as (world, recorder):
        async with ticking(world, recorder):
            await ticked.twice.wait()

        assert recorder.records == []
        assert not [task for task in asyncio.all_tasks() if "<_again_and_again()" in repr(task)]


async def test_what_fails_is_written_down_once(tmp_path: Path) -> None:
    ticked = Ticked()
    ticked.status = 500
    tick = {"method": "POST", "path": "/reconcile", "every_s": 0.001}
    async with world_with(ticked, tmp_path, **tick) as (world, recorder):
        async with ticking(world, recorder):
            await ticked.twice.wait()

        [record] = recorder.records
        assert (record.lane, record.value["error"]) == (
            "process:tick",
            "POST /reconcile: HTTP 500",
        )


async def test_a_command_runs_where_the_service_lives(tmp_path: Path) -> None:
    program = "import sys; open('ran', 'a').write('x'); sys.exit('cannot')"
    tick = {"command": ["{python}", "-c", program], "every_s": 0.001}
    async with world_with(Ticked(), tmp_path, **tick) as (world, recorder):
        failed = asyncio.Event()
        recorder.subscribe(lambda _: failed.set())
        async with ticking(world, recorder):
            await failed.wait()

        assert "ended with code 1: cannot" in recorder.records[0].value["error"]
        assert has_run(tmp_path)


async def test_without_a_table_nothing_is_started(tmp_path: Path) -> None:
    async with world_with(Ticked(), tmp_path, path="/reconcile") as (world, recorder):
        world.service_file = world.service_file.model_copy(update={"tick": None})
        async with ticking(world, recorder):
            pass
        assert recorder.records == []
