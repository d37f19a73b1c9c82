"""The gate before a Redis: commands of a service in any language, held one by one.

The same gate as the one before PostgreSQL, in another dialect: RESP 2 and 3, inline commands,
pipelines, MULTI and EXEC, Lua, publish and subscribe.

Rule 1: no byte is lost, changed or moved. What is held delays what comes after it on the same
        connection, and nothing else.
Rule 2: there is one answer to each command, in their order. Where that ends (SUBSCRIBE, MONITOR,
        CLIENT REPLY) everything passes, and nothing more is held on that connection.
Rule 3: a refused command does not reach the server; a refused EXEC has it forget what was queued.
"""

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from onecharge.engine.gates import redis_commands
from onecharge.engine.gates.gate import Gate, Held, OrderOf, nobodys
from onecharge.engine.gates.redis_server import RedisServer, through
from onecharge.engine.gates.sides import Side, Unreachable
from onecharge.engine.gates.way import Way
from onecharge.engine.gates.wire import redis as wire
from onecharge.engine.gates.wire.redis import Piece
from onecharge.engine.parking import Parking, Place

_BACKLOG: Final = 4 * wire.WHOLE

REFUSALS: Final = {
    "BUSY": "Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "LOADING": "Redis is loading the dataset in memory",
    "MISCONF": "Redis is configured to save RDB snapshots, but it's currently unable to persist",
    "OOM": "command not allowed when used memory > 'maxmemory'.",
    "READONLY": "You can't write against a read only replica.",
}
"""What a server refuses commands with, by the word that its answer begins with."""


class RedisGate(Gate):
    """A gate before one server."""

    def __init__(
        self, server_url: str, parking: Parking | None = None, *, order_of: OrderOf = nobodys
    ) -> None:
        super().__init__(parking, order_of=order_of)
        self.server = RedisServer.of(server_url)

    def __repr__(self) -> str:
        return f"<RedisGate at port {self.port}, {self.connections} connection(s)>"

    def url(self, redis_url: str) -> str:
        """Return the URL of one of the server's databases by way of the gate."""
        return through(redis_url, self.port)

    async def evict(self, pattern: str) -> int:
        """Have the server forget all keys like ``idem:*``, as when it is short of memory.

        The database is the one that the gate's URL names. Returns how many keys there were.
        """
        (answer,) = await self.server.asks(("EVAL", _EVICT, "0", pattern))
        return int(answer[1:])

    def _welcome(self) -> asyncio.BaseProtocol:
        return Gated(self).client


_EVICT: Final = """\
local cursor, gone = '0', 0
repeat
  local found = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000)
  cursor = found[1]
  for _, key in ipairs(found[2]) do gone = gone + redis.call('DEL', key) end
until cursor == '0'
return gone
"""


class Command(Held):
    """A command that is held."""

    def __init__(self, way: "Gated", place: Place, said: list[bytes], piece: Piece) -> None:
        text = b" ".join(said).decode(errors="replace")
        super().__init__(way.gate, place, text, piece.data)
        self._way = way
        self.said = said
        self.piece = piece

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return not redis_commands.reads(self.said)

    def _pass_on(self) -> None:
        self._way.pass_on(self, lost=False)

    def _hear_later(self, seconds: float) -> None:
        self._way.hear_later(seconds)

    def _cut_before(self) -> None:
        self._way.end()

    def _cut_after(self) -> None:
        self._way.pass_on(self, lost=True)

    def _check(self, code: str) -> None:
        if code not in REFUSALS:
            raise ValueError(f"expected one of {', '.join(REFUSALS)}, not {code!r}")

    def _refuse(self, code: str) -> None:
        self._way.refuse(self, wire.error(f"{code} {REFUSALS[code]}"))


@dataclass(slots=True)
class _Owed:
    """One answer to come."""

    whose: Command | None = None
    lost: bool = False
    streams: bool = False
    waits: bool = False
    instead: bytes = b""
    """What the client is told in place of the answer."""
    unasked: bool = False
    """Whether the server knows nothing of it: it is for us to answer."""


class Gated(Way[Piece, Command]):
    """A client, its connection to the server, and what is between them."""

    gate: RedisGate
    _server: Side

    def __init__(self, gate: RedisGate) -> None:
        super().__init__(gate, _BACKLOG)
        self._server = Side(self._from_server, self._server_gone)
        self._said, self._heard = wire.Frames(inline=True), wire.Frames()
        self._line: deque[_Owed] = deque()
        self._dropping = False
        self._sealed = False
        self._streaming = False
        self._queueing = False
        self._pushing = False
        self._reached = False
        self._unread = b""
        self.client.other, self._server.other = self._server, self.client
        self.client.be_silent("opening")
        gate.joined(self)
        gate.later(asyncio.create_task(self._connect()))

    @property
    def working(self) -> bool:
        """Whether the next move is the server's."""
        return bool(self._line) and not (self._line[0].streams or self._line[0].waits)

    async def _connect(self) -> None:
        try:
            await self.gate.server.connect(self._server)
        except Unreachable as problem:
            self.gate.complaints.append(str(problem))
            self.client.cut()
            return
        if self._over:
            self._server.cut()
            return
        self._reached = True
        unread, self._unread = self._unread, b""
        self.client.speak("opening")
        if unread:
            self._from_client(unread)

    # From the client

    def _from_client(self, data: bytes) -> None:
        if not self._reached:  # it was told to be silent; uvloop reads once all the same
            self._unread += data
            return
        try:
            pieces = self._said.feed(data)
        except wire.Garbled as problem:
            self.gate.complaints.append(f"a client does not speak Redis' protocol: {problem}")
            self.cut()
            return
        self._take_in(pieces, len(data))

    def _send(self) -> None:
        """Do nothing: what passes is said to the server at once."""

    def _take(self, piece: Piece) -> None:
        if not piece.first:
            if not self._dropping:
                self._server.say(piece.data)
            return
        self._dropping = self._sealed
        if self._sealed:
            return
        said = wire.words(piece.data)
        if not said or self._streaming:
            self._server.say(piece.data)
            return
        if not self._gates(said):
            self._put(said, piece)
            return
        parking = self.gate.parking
        chain = parking.chains.of(self, stays=self._queueing)
        place = parking.places.next(chain, redis_commands.head(said))
        self.held = Command(self, place, said, piece)
        self.gate.arrived(self.held)

    def _gates(self, said: list[bytes]) -> bool:
        """Whether a command may be held."""
        if not self.gate.attentive or redis_commands.streams(said):
            return False
        if self._queueing and redis_commands.name(said) != "EXEC":
            return False
        if redis_commands.for_its_own_sake(said):
            return False
        return self._queueing or not self.gate.habits.takes(redis_commands.head(said))

    def _put(
        self,
        said: list[bytes],
        piece: Piece,
        *,
        whose: Command | None = None,
        lost: bool = False,
    ) -> None:
        verb = redis_commands.name(said)
        if verb in {"MULTI", "EXEC", "DISCARD", "RESET"}:
            self._queueing = verb == "MULTI"
        self._streaming = redis_commands.streams(said)
        waits = redis_commands.waits(said)
        self._line.append(_Owed(whose, lost=lost, streams=self._streaming, waits=waits))
        self._server.say(piece.data)

    def pass_on(self, command: Command, *, lost: bool) -> None:
        """Send a command that was held, and what may follow; or have its answer be the last."""
        self.held = None
        self._put(command.said, command.piece, whose=command, lost=lost)
        self._sealed = lost
        self._advance()

    def refuse(self, command: Command, answer: bytes) -> None:
        """Answer a command in the server's place, when its turn comes."""
        self.held = None
        if redis_commands.name(command.said) == "EXEC" and self._queueing:
            self._queueing = False
            self._line.append(_Owed(instead=answer))
            self._server.say(wire.command("DISCARD"))
        else:
            self._line.append(_Owed(instead=answer, unasked=True))
            self._dropping = not command.piece.last
            self._answer_what_is_ours()
        self._advance()

    # From the server

    def _from_server(self, data: bytes) -> None:
        try:
            pieces = self._heard.feed(data)
        except wire.Garbled as problem:
            self.gate.complaints.append(f"the server does not speak Redis' protocol: {problem}")
            self.cut()
            return
        for piece in pieces:
            self._told(piece)
        self.gate.parking.stir()

    def _told(self, piece: Piece) -> None:
        """Tell the client what the server says, if it is to be told."""
        if piece.first:
            self._pushing = piece.kind == b">"
        if self._pushing or not self._line or self._line[0].streams:
            self.client.say(piece.data)
            return
        owed = self._line[0]
        if not owed.lost:
            self.client.say(owed.instead if owed.instead and piece.last else piece.data)
        if piece.last:
            self._line.popleft()
            if owed.whose is not None:
                self.gate.parking.answered(owed.whose.place)
            if owed.lost:
                self.end()
            self._answer_what_is_ours()

    def _answer_what_is_ours(self) -> None:
        while self._line and self._line[0].unasked:
            self.client.say(self._line.popleft().instead)
