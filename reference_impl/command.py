"""The command: settings in, one process of the service out, or as many as ``WORKERS`` says.

Rule 1: what is wrong with the start is said in one line. Exit 2: a setting; 1: the world.
"""

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from reference_impl.logs import log_lines
from reference_impl.parts import NoSuchMutantError, Parts, parts
from reference_impl.service import running
from reference_impl.settings import Settings, SettingsError, read_settings


def main() -> int:
    try:
        settings = read_settings(os.environ)
        chosen = parts(settings.reference_mutant)
    except (SettingsError, NoSuchMutantError) as error:
        print(f"reference_impl: {error}", file=sys.stderr)  # noqa: T201
        return 2
    log_lines()
    if settings.workers == 1:
        return _serve_here(settings, chosen)
    return _serve_by_workers(settings, chosen)


async def serve(
    settings: Settings,
    chosen: Parts,
    alive: int | None = None,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until somebody asks to stop, then end what was begun.

    A worker says that it is ready, and ends when its parent's end of ``alive`` closes.
    """
    asked_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for asked in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(asked, asked_to_stop.set)
    if alive is not None:
        loop.add_reader(alive, asked_to_stop.set)
    async with running(settings, chosen, shared_port=alive is not None):
        if ready is not None:
            ready()
        await asked_to_stop.wait()
        if alive is not None:
            loop.remove_reader(alive)


def _serve_here(
    settings: Settings,
    chosen: Parts,
    alive: int | None = None,
    ready: Callable[[], None] | None = None,
) -> int:
    try:
        with asyncio.Runner(loop_factory=_event_loop) as runner:
            runner.run(serve(settings, chosen, alive, ready))
    except OperationalError:
        print("reference_impl: DATABASE_URL: the database does not answer", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:
        return _cannot_listen(settings, error)
    return 0


def _serve_by_workers(settings: Settings, chosen: Parts) -> int:
    workers = importlib.import_module("reference_impl.workers")
    try:
        keeper, port = workers.reserved_port(settings.host, settings.port)
    except OSError as error:
        return _cannot_listen(settings, error)
    everybody = settings.model_copy(update={"port": port})

    def serve_as_worker(alive: int, ready: Callable[[], None]) -> int:
        return _serve_here(everybody, chosen, alive, ready)

    with keeper:
        code: int = workers.run_workers(serve_as_worker, settings.workers)
        return code


def _cannot_listen(settings: Settings, error: OSError) -> int:
    where = f"{settings.host}:{settings.port}"
    print(f"reference_impl: cannot listen on {where}: {error.strerror}", file=sys.stderr)  # noqa: T201
    return 1


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:  # it is not made for Windows
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
