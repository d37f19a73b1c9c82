"""Who begins when, in one playing of many rows; and the one blow for all who are to be struck.

Rule 1: first come those whom a blow is meant for: a kill, or a crash of the database. Each goes to
        its own point; when all are there, or patience ends, it falls once. When all is up again
        the others begin.
Rule 2: who can wait at a point comes first: a call at the provider stands still, an answer that
        was given cannot be given again. So an answer is at most a few moments old.
Rule 3: no call stands still for longer than the patience, which is less than the shortest time
        that the service file declares.
Rule 4: the others begin one by one, a few at a time: a crowd would be late, and lateness is a
        trouble of its own. Who is through makes room at once, who waits for something soon.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

from onecharge.world.world import World
from simulator.core.journal import Entry, Kind, Sink

A_FEW: Final = 8
"""So many of the others are on at once."""

HEAD_START_S: Final = 0.3
"""Who is not through by then waits for something."""

_LOOK_AGAIN_S: Final = 0.01
_A_CHANCE_S: Final = 0.15
"""So long those of a turn have at least, however long the others have stood still."""

Blow = Callable[[], Awaitable[None]]


class Cues:
    """Gives the cues of one playing: to the ``turns``, one after the other, and then to the rest.

    The blow falls when everybody of every turn has arrived at a point, or is through without.
    """

    def __init__(
        self, world: World, turns: Sequence[Collection[str]], blow: Blow, patience_s: float
    ) -> None:
        self._world = world
        self._blow = blow
        self._patience_s = patience_s
        self._turns = [frozenset(turn) for turn in turns if turn]
        self._coming = {label for turn in turns for label in turn}
        self._may_begin = {label: asyncio.Event() for label in self._coming}
        self._fallen = asyncio.Event()
        self._room = asyncio.Semaphore(A_FEW)
        self._makes_room: dict[str, asyncio.TimerHandle] = {}
        self._conducting: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Cues, {len(self._coming)} still to come>"

    async def turn(self, label: str) -> None:
        """Wait until it is this one's turn to begin."""
        if self._conducting is None:
            self._conducting = asyncio.create_task(self._conduct())
        if label in self._may_begin:
            await self._may_begin[label].wait()
            return
        await self.fallen()
        await self._room.acquire()
        later = asyncio.get_running_loop().call_later
        self._makes_room[label] = later(HEAD_START_S, self._make_room, label)

    def over(self, label: str) -> None:
        """Note that this one is through, whatever it came to."""
        self._coming.discard(label)
        self._make_room(label)

    def arrived(self, label: str) -> None:
        """Note that this one is at its point."""
        self._coming.discard(label)

    async def fallen(self) -> None:
        """Wait until the blow has fallen and all is up again; tell if that failed."""
        await self._fallen.wait()
        assert self._conducting is not None
        if self._conducting.done():
            self._conducting.result()

    def _make_room(self, label: str) -> None:
        if waiting := self._makes_room.pop(label, None):
            waiting.cancel()
            self._room.release()

    async def _conduct(self) -> None:
        try:
            if self._turns:
                ends_s = asyncio.get_running_loop().time() + 2 * self._patience_s
                for turn in self._turns:
                    for label in turn:
                        self._may_begin[label].set()
                    await self._until_there(turn, ends_s)
                await self._blow()
        finally:
            self._fallen.set()

    async def _until_there(self, turn: Collection[str], ends_s: float) -> None:
        now_s = asyncio.get_running_loop().time
        at_least_s = now_s() + _A_CHANCE_S
        while not self._coming.isdisjoint(turn):
            held = [each.parked_at_s for each in self._world.simulator.gates.held()]
            until_s = min([ends_s, *(since_s + self._patience_s for since_s in held)])
            if now_s() >= max(until_s, at_least_s):
                return
            await asyncio.sleep(_LOOK_AGAIN_S)


class Kills:
    """A blow: everybody who serves one that is at its point is killed, and started again."""

    def __init__(self, world: World, after_ms: int) -> None:
        self._world = world
        self._after_ms = after_ms
        self._victims: set[str] = set()

    def condemn(self, names: Collection[str]) -> None:
        """Note who is to be killed."""
        self._victims |= set(names)

    async def __call__(self) -> None:
        """Kill them all, and wait until they are back."""
        await asyncio.sleep(self._after_ms / 1000)
        services, victims = self._world.services, sorted(self._victims)
        for name in victims:
            services.kill(name)
        await asyncio.gather(*map(services.restart, victims))


class Crash:
    """A blow: the database crashes and comes back; whoever is concerned has it in his history."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._down_s = 0.0
        self._concerned: list[Sink] = []

    def concern(self, sink: Sink, down_s: float) -> None:
        """Note who is concerned, and how long it has to be away at least."""
        self._concerned.append(sink)
        self._down_s = max(self._down_s, down_s)

    async def __call__(self) -> None:
        """Crash it, and wait until it is back."""
        postgres = self._world.postgres
        assert postgres is not None, "left out where the server is not ours"
        self._write("crash")
        await postgres.restart(down_s=self._down_s)
        self._write("restart")

    def _write(self, kind: Kind) -> None:
        for sink in self._concerned:
            sink(Entry("database", kind, {"what": "database"}))
