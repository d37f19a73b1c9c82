"""Who waits for a lock in the service's database: asked past the gate.

Rule 1: whoever ends a transaction grants its locks to who waits, before they are even awake; so
        what is asked for are locks that are not granted, and not what a process waits for.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import psycopg

if TYPE_CHECKING:
    from onecharge.world.world import World

_WAIT_FOR_LOCKS: Final = "SELECT pid FROM pg_locks WHERE NOT granted"


class Locks:
    """Tells whose statements wait for a lock."""

    def __init__(self, world: "World", connection: psycopg.AsyncConnection | None) -> None:
        self._gate = world.database_gate
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def of(cls, world: "World") -> AsyncIterator[Self]:
        """Yield what can tell it, as long as the context lasts."""
        if world.database_gate is None:
            yield cls(world, None)
            return
        async with await psycopg.AsyncConnection.connect(
            world.database_url, autocommit=True
        ) as connection:
            yield cls(world, connection)

    async def blocked(self) -> list[str]:
        """Return the chains that wait, one for each statement."""
        if self._connection is None or self._gate is None or not self._gate.working:
            return []
        found = await (await self._connection.execute(_WAIT_FOR_LOCKS)).fetchall()
        return self._gate.chains_of([pid for (pid,) in found])
