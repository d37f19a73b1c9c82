"""A gate between a service and its store: what there is of it whatever the store speaks.

Rule 1: a gate only delays, unless it is asked to do more. Unarmed, everything passes.
Rule 2: every command that may be held is told to one place, ``arrived``: there it is acted upon,
        delayed, parked or let go, in this order.
Rule 3: a command has one fate. Who decides second is too late, and nothing happens.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

from onecharge.engine.gates.door import Door
from onecharge.engine.gates.habits import Habits
from onecharge.engine.parking import Parking, Place, Standing

OrderOf = Callable[[str, bytes], "str | None"]
"""Tells, from a command's text and its bytes, whose order it is about."""


def nobodys(_text: str, _said: bytes) -> str | None:
    """Tell of no command whose it is."""
    return None


class Held(ABC):
    """A command that has arrived and has not been passed on: it is waited for what to do.

    ``text`` is what is said, in the words of the client; of a large command, the beginning.
    """

    standing: Standing = "under way"

    def __init__(self, gate: "Gate", place: Place, text: str, said: bytes) -> None:
        self.place: Final = place
        self.text: Final = text
        self.order: Final = gate.order_of(text, said)
        self._gate = gate
        self._parked = False
        self.decided = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.place}>"

    @property
    @abstractmethod
    def writes(self) -> bool:
        """Whether it changes what is stored, or ends what did: all others only read."""

    def release(self) -> None:
        """Pass it on."""
        if self._decide():
            self._pass_on()

    def answer_late(self, seconds: float) -> None:
        """Pass it on, and have its answer heard so much later, and all that is said behind it."""
        if self._decide():
            self._hear_later(seconds)
            self._pass_on()

    def cut_before(self) -> None:
        """Close the connection in its place: it never happens."""
        if self._decide():
            self._cut_before()

    def cut_after(self) -> None:
        """Pass it on, and close the connection once it has happened, before it is answered."""
        if self._decide():
            self._cut_after()

    def refuse(self, code: str) -> None:
        """Answer with an error in its place, as the store itself would.

        Raises ``ValueError`` for a code that the store does not refuse commands with.
        """
        self._check(code)
        if self._decide():
            self._refuse(code)

    def withdraw(self) -> None:
        """Forget it: who sent it is gone."""
        self._decide()

    def park(self) -> None:
        """Wait for somebody to decide."""
        if not self.decided:
            self._parked = True
            self._gate.parking.park(self)

    def _decide(self) -> bool:
        if self.decided:
            return False
        self.decided = True
        if self._parked:
            self._gate.parking.leave(self)
        return True

    @abstractmethod
    def _pass_on(self) -> None: ...

    @abstractmethod
    def _hear_later(self, seconds: float) -> None: ...

    @abstractmethod
    def _cut_before(self) -> None: ...

    @abstractmethod
    def _cut_after(self) -> None: ...

    @abstractmethod
    def _check(self, code: str) -> None: ...

    @abstractmethod
    def _refuse(self, code: str) -> None: ...


Act = Callable[[Held], None]


class Connection(Protocol):
    """One client's way through the gate."""

    def cut(self) -> None:
        """Close both sides at once."""
        ...

    @property
    def working(self) -> bool:
        """Whether the next move is the store's."""
        ...

    def rest(self) -> None:
        """Take in that nothing moves: what is still worked on is blocked."""
        ...


class Gate(ABC):
    """What every gate can do. ``port`` is where the service finds it, on this machine."""

    def __init__(self, parking: Parking | None = None, *, order_of: OrderOf = nobodys) -> None:
        self.parking = parking or Parking()
        self.order_of = order_of
        self.habits = Habits()
        self.complaints: list[str] = []
        """What clients tried that cannot work here, each in one sentence."""
        self._door = Door(self._welcome)
        self._connections: dict[Connection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._acts: dict[int, Act] = {}
        self._delays: dict[str, float] = {}
        self._arrived = 0
        self.parking.at_rest.append(self._rest)

    @property
    def port(self) -> int:
        """Where clients come in."""
        return self._door.port

    @property
    def attentive(self) -> bool:
        """Whether anything is to be done with commands but to pass them on."""
        busy = self.parking.armed or self.habits.listening
        return busy or bool(self._acts) or bool(self._delays)

    @property
    def connections(self) -> int:
        """How many clients are in."""
        return len(self._connections)

    @property
    def working(self) -> int:
        """On how many connections the next move is the store's: it works, or waits for a lock."""
        return sum(each.working for each in self._connections)

    async def open(self) -> None:
        """Let clients in."""
        await self._door.open()

    async def close(self) -> None:
        """Let nobody in any more, and cut who is."""
        self.parking.at_rest.remove(self._rest)
        await self.cut_off()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def cut_off(self) -> None:
        """Be unreachable: cut every connection, and refuse new ones."""
        await self._door.shut()
        for connection in list(self._connections):
            connection.cut()

    async def restore(self) -> None:
        """Be reachable again, at the same port."""
        if not self._door.is_open:
            await self._door.open()

    @asynccontextmanager
    async def unreachable(self) -> AsyncIterator[None]:
        """Be unreachable for as long as the block lasts."""
        await self.cut_off()
        try:
            yield
        finally:
            await self.restore()

    def on_command(self, nth: int, act: Act) -> None:
        """Call once with the nth command from now on, before it is passed on.

        ``act`` may decide what becomes of it, and may do something else as well: kill the
        service. If it decides nothing, the command is treated as all others are.
        """
        assert nth >= 1, "counted from 1"
        if not self._acts:
            self._arrived = 0
        self._acts[self._arrived + nth] = act

    def delay(self, what: str, seconds: float) -> None:
        """Hold every command so long whose words begin so, as ``SELECT`` or ``GET``; 0: no more."""
        if seconds:
            self._delays[what] = seconds
        else:
            self._delays.pop(what, None)

    def forget(self) -> None:
        """Drop all delays and everything asked for of commands to come."""
        self._acts.clear()
        self._delays.clear()

    def arrived(self, held: Held) -> None:
        """Decide what becomes of a command that was just read."""
        self._arrived += 1
        if act := self._acts.pop(self._arrived, None):
            act(held)
        delay_s = max(
            (s for w, s in self._delays.items() if held.place.what.startswith(w)), default=0
        )
        if held.decided:
            return
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._waited_enough, held)
        else:
            self._waited_enough(held)

    def _rest(self) -> None:
        for connection in self._connections:
            connection.rest()

    def _waited_enough(self, held: Held) -> None:
        if self.parking.armed:
            held.park()
        else:
            held.release()

    def joined(self, connection: Connection) -> None:
        """Take in a client's connection."""
        self._connections[connection] = None

    def left(self, connection: Connection) -> None:
        """Forget a client's connection."""
        self._connections.pop(connection, None)
        self.parking.stir()

    def later(self, work: "asyncio.Task[None]") -> None:
        """Remember a task until it is done."""
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)

    @abstractmethod
    def _welcome(self) -> asyncio.BaseProtocol: ...
