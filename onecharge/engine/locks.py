"""Who waits for a lock in the service's database: asked past the gate.

Rule 1: whoever ends a transaction grants its locks to who waits, before they are even awake; so
        what is asked for are locks that are not granted, and not what a process waits for.
Rule 2: who waits for what the service does of its own accord (``habits.py``) is not blocked: that
        passes unheld, and whoever waits for it goes on by himself. When it comes, the clock says:
        taken for a blocked one, he would be overtaken in one run and not in the next.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import psycopg

from onecharge.engine.gates.postgres_gate import PostgresGate

if TYPE_CHECKING:
    from onecharge.world.world import World

_WAIT_FOR_LOCKS: Final = "SELECT pid, pg_blocking_pids(pid) FROM pg_locks WHERE NOT granted"


class Locks:
    """Tells whose statements wait for a lock."""

    def __init__(
        self, gate: PostgresGate | None, connection: psycopg.AsyncConnection | None
    ) -> None:
        self._gate = gate
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def of(cls, world: "World") -> AsyncIterator[Self]:
        """Yield what can tell it, as long as the context lasts."""
        if world.database_gate is None:
            yield cls(None, None)
            return
        async with await psycopg.AsyncConnection.connect(
            world.database_url, autocommit=True
        ) as connection:
            yield cls(world.database_gate, connection)

    async def blocked(self) -> list[str]:
        """Return the chains that wait, one for each statement."""
        if self._connection is None or self._gate is None or not self._gate.working:
            return []
        found = await (await self._connection.execute(_WAIT_FOR_LOCKS)).fetchall()
        return self._gate.chains_of(blocked(dict(found), self._gate.passing_pids()))


def blocked(waits_for: Mapping[int, Collection[int]], passing: Collection[int]) -> set[int]:
    """Return who waits, and not only for somebody who just passes, be it through others.

    ``waits_for`` are all who wait, and for whom; ``passing`` are those whom nothing holds.
    """
    go_on: set[int] = set()
    while more := {
        pid
        for pid, others in waits_for.items()
        if pid not in go_on and all(o in go_on if o in waits_for else o in passing for o in others)
    }:
        go_on |= more
    return waits_for.keys() - go_on
