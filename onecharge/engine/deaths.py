"""Deaths of the service: orders that were left at different places, and one kill for all of them.

A kill and a start cost a second or more, so runs that end by a death are collected. What they
left parked stays so, and no caller notices, until the service is killed.

Rule 1: nothing waits for longer than the service waits for its provider: then it is killed at once.
Rule 2: no more are collected than the service has room for: each holds a connection of its pool.
        How many that are is found out when the next run does not go on.
Rule 3: what had left the service before it died goes on afterwards: its provider is alive.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onecharge.engine.gates.gate import Held
from onecharge.healing import LOOK_AGAIN_S, at_most

if TYPE_CHECKING:
    from onecharge.world.world import World

_NOTICED_WITHIN_S: Final = 5.0


class Deaths:
    """What is collected until somebody strikes. ``at_most_s`` is how long that may take."""

    def __init__(self, world: "World", at_most_s: float) -> None:
        self._world = world
        self._at_most_s = at_most_s
        self._waiting: list[asyncio.Task[None]] = []
        self._since_s = 0.0
        self._room: int | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait for the service to die."""
        return len(self._waiting)

    @property
    def due(self) -> bool:
        """Whether it must not be waited for more."""
        now_s = asyncio.get_running_loop().time()
        full = self._room is not None and self.waiting >= self._room
        return bool(self._waiting) and (full or now_s - self._since_s >= self._at_most_s)

    async def make_room(self, operations: Sequence["asyncio.Task[None]"]) -> None:
        """Take in a run that did not go on, since there is no room for it, and strike."""
        self._room = self.waiting
        self.staged(operations)
        await self.strike()

    def staged(self, operations: Sequence["asyncio.Task[None]"]) -> None:
        """Take in a run that ended with the death of the service, and who still waits in it."""
        if not self._waiting:
            self._since_s = asyncio.get_running_loop().time()
        self._waiting += operations

    async def strike(self) -> None:
        """Kill the service, if anybody waits for that, and start it again.

        What had left it before goes on meanwhile.
        """
        if not self._waiting:
            return
        services, parking = self._world.services, self._world.parking
        for name in services.names:
            services.kill(name)
        async with at_most(_NOTICED_WITHIN_S):
            while any(isinstance(event, Held) for event in parking.forsaken):
                await asyncio.sleep(LOOK_AGAIN_S / 10)  # its connections close
        for event in parking.forsaken:
            event.release()
        waiting, self._waiting = self._waiting, []
        await asyncio.gather(*waiting)
        await asyncio.gather(*map(services.restart, services.names))
