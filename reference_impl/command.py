"""The command: settings in, one process of the service out.

Rule 1: what is wrong with the start is said in one line. Exit 2: a setting; 1: the world.
"""

import asyncio
import importlib
import os
import signal
import sys

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
    try:
        with asyncio.Runner(loop_factory=_event_loop) as runner:
            runner.run(serve(settings, chosen))
    except OperationalError:
        print("reference_impl: DATABASE_URL: the database does not answer", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        print(f"reference_impl: cannot listen on {where}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def serve(settings: Settings, chosen: Parts) -> None:
    """Serve until somebody asks to stop, then end what was begun."""
    asked_to_stop = asyncio.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(asked, asked_to_stop.set)
    async with running(settings, chosen):
        await asked_to_stop.wait()


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:  # it is not made for Windows
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
