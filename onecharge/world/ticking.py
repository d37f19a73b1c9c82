"""The reconciler or cron of a service that somebody must start: here, we are that somebody.

Rule 1: it runs while waiting is all there is to do: in the control, and while healing.
Rule 2: one run at a time; the next begins ``every_s`` after the last one has ended.
Rule 3: a run that fails is written down once, until one fails otherwise, and the next is tried.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Final

from onecharge.press import prepared
from onecharge.service_file import Tick
from onecharge.world.commands import CommandFailed
from onecharge.world.sending import send
from simulator.core.journal import Entry, Sink

if TYPE_CHECKING:
    from onecharge.world.world import World

LANE: Final = "process:tick"


@asynccontextmanager
async def ticking(world: "World", sink: Sink | None = None) -> AsyncIterator[None]:
    """Run what ``[tick]`` names, again and again, as long as the context lasts."""
    tick = world.service_file.tick
    if tick is None:
        yield
        return
    running = asyncio.create_task(_again_and_again(world, tick, sink or world.sink))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _again_and_again(world: "World", tick: Tick, sink: Sink) -> None:
    urls = cycle(world.services.urls)
    told: str | None = None
    while True:
        wrong = await _once(world, tick, next(urls))
        if wrong is not None and wrong != told:
            sink(Entry(LANE, "unknown", {"what": "tick", "error": wrong}))
        told = wrong
        await asyncio.sleep(tick.every_s)


async def _once(world: "World", tick: Tick, url: str) -> str | None:
    """Run it once; say what went wrong, or None."""
    if tick.command is not None:
        try:
            await world.commands.output(tick.command, tick.within_s)
        except CommandFailed as error:
            return str(error)
        return None
    request = tick.request
    assert request is not None
    heard = await send(world.session, url, prepared(request, {}), tick.within_s)
    if heard.error is not None or heard.status is None:
        return f"{tick.method} {tick.path}: {heard.error}"
    if heard.status >= 400:
        return f"{tick.method} {tick.path}: HTTP {heard.status}"
    return None
