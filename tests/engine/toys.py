"""Services of no process: what they do with their store are stops, what they know is a set."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from onecharge.engine.boundaries import stop
from onecharge.engine.course import Operation
from onecharge.engine.parking import Parking


class Toy:
    """A service of no process: what it does with its store are stops, what it knows is a dict."""

    def __init__(self) -> None:
        self.parking = Parking()
        self.rows: set[str] = set()
        self.charges: list[str] = []
        self.lock = asyncio.Lock()
        self.waiting: set[str] = set()

    async def blocked(self) -> set[str]:
        return set(self.waiting)

    async def statement(self, who: int, what: str) -> None:
        await stop(self.parking, f"client:{who}", what, standing="under way")

    async def looks_then_inserts(self, who: int) -> None:
        await self.statement(who, "SELECT FROM keys")
        known = "key" in self.rows
        await self.statement(who, "INSERT INTO keys")
        self.rows.add("key")
        if not known:
            self.charges.append(f"by {who}")

    async def locks(self, who: int) -> None:
        await self.statement(who, "SELECT FOR UPDATE")
        self.waiting.add(f"client:{who}")
        await self.lock.acquire()
        self.waiting.discard(f"client:{who}")
        known = "key" in self.rows
        await self.statement(who, "COMMIT")
        self.rows.add("key")
        self.lock.release()
        if not known:
            self.charges.append(f"by {who}")


Way = Callable[[Toy, int], Awaitable[None]]


def two(toy: Toy, way: Way) -> list[Operation]:
    return [
        Operation("client:1", "POST /charges", lambda: way(toy, 1)),
        Operation("client:2", "POST /charges", lambda: way(toy, 2)),
    ]


def times(number: int) -> Callable[[], bool]:
    """Return what tells so many times that there is time for another run."""
    left = itertools.chain(itertools.repeat(True, number), itertools.repeat(False))
    return lambda: next(left)
