"""One connection through the PostgreSQL gate: what came, what is held, what is on its way.

What every such connection has in common, whatever is spoken, stands in ``way.py``.

Rule 1: behind an Execute that was held stands a Flush of ours, which has no answer: what was
        released is seen to be done, even if the client's Sync waits behind something held.
Rule 2: a statement that is still worked on when nothing else moves is blocked. Whoever waits for
        it is told of its end when their turn has come, and not in the midst of somebody else's.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from onecharge.engine.chains import BACKGROUND
from onecharge.engine.gates.postgres_opening import Opening
from onecharge.engine.gates.postgres_refusals import Refusal
from onecharge.engine.gates.postgres_statement import Loss, Statement, Transaction, Woken
from onecharge.engine.gates.sides import Side, Unreachable
from onecharge.engine.gates.statements import commits, ends, for_its_own_sake, head, words
from onecharge.engine.gates.way import Way
from onecharge.engine.gates.wire import postgres as wire
from onecharge.engine.gates.wire.postgres import Piece
from onecharge.engine.gates.wire.postgres_answers import (
    IDLE,
    IN_TRANSACTION,
    OPENING,
    Awaited,
    Owed,
)
from onecharge.engine.gates.wire.postgres_units import Units

if TYPE_CHECKING:
    from onecharge.engine.gates.postgres_gate import PostgresGate

_BACKLOG: Final = 4 * wire.WHOLE
_OURS: Final = b"onecharge_refusal"
_DONE: Final = frozenset({b"1", b"2", b"3"})
_DOES: Final = frozenset({b"Q", b"E", b"F"})
"""With which of its messages a statement is done, and not only made ready."""
_COPIED: Final = frozenset({b"d", b"c", b"f"})


class Gated(Way[Piece, Statement]):
    """A client, the server's process that serves it, and what is between them."""

    gate: "PostgresGate"

    def __init__(self, gate: "PostgresGate") -> None:
        super().__init__(gate, _BACKLOG)
        self.pid = 0
        self._key = b""
        self._tls = False
        self._opening = Opening(gate, self.client, self._begin)
        self._said, self._heard = wire.Frames(), wire.Frames()
        self._awaited: Awaited[Statement] = Awaited()
        self._out: list[bytes] = []
        self._units = Units()
        self._refusing: Refusal | None = None
        self._discarding = False
        self._loss = Loss.NONE
        self._blocked: Woken | None = None
        self._transaction = Transaction.EMPTY
        self._dropping = False
        """Whether the parts to come belong to a large message that is not sent."""
        gate.joined(self)

    @property
    def working(self) -> bool:
        """Whether the next move is the server's."""
        return self._server is not None and self._awaited.working

    @property
    def idle(self) -> bool:
        """Whether no transaction is open."""
        return self._awaited.status == IDLE

    @property
    def passing(self) -> bool:
        """Whether it does what the service asks for of its own accord, which nothing holds."""
        return self._transaction is Transaction.HABITS and (self.working or not self.idle)

    def rest(self) -> None:
        """Take in that nothing moves: a statement that is worked on now is blocked."""
        head = self._awaited.head
        if self.working and head is not None and head.whose is not None and self._blocked is None:
            self._blocked = Woken(self, head.whose)

    # From the client

    def _from_client(self, data: bytes) -> None:
        try:
            if self._server is None:
                self._opening.hear(data)
                return
            pieces = self._said.feed(data)
        except wire.Garbled as problem:
            self.gate.complaints.append(f"a client does not speak PostgreSQL's protocol: {problem}")
            self.cut()
            return
        self._take_in(pieces, len(data))

    def _begin(self, startup: wire.Startup) -> None:
        self.gate.later(asyncio.create_task(self._connect(startup)))

    async def _connect(self, startup: wire.Startup) -> None:
        server = Side(self._from_server, self._server_gone)
        try:
            self._tls = await self.gate.server.connect(server)
        except Unreachable as problem:
            self.gate.complaints.append(str(problem))
            self.client.cut()
            return
        if self._over:
            server.cut()
            return
        self._server = server
        self.client.other, server.other = server, self.client
        server.say(startup.packet)
        self._awaited.asked(Owed(OPENING))
        if unread := self._opening.over():
            self._from_client(unread)

    def _send(self) -> None:
        if self._out and self._server is not None:
            out, self._out = b"".join(self._out), []
            self._server.say(out)

    def _take(self, piece: Piece) -> None:
        if self._dropping:
            self._dropping = not piece.last
            return
        if self._discarding:
            if piece.kind != b"S":
                return
            self._discarding = False
        if self._loss is not Loss.NONE:
            self._take_lost(piece)
            return
        for unit in self._units.take(piece):
            if unit.text is not None:
                self._statement(unit.text, unit.pieces)
            elif self._refusing is not None and unit.pieces[-1].kind == b"E":
                refusal, self._refusing = self._refusing, None
                self._refuse_execute(unit.pieces, refusal, commit=False)
            else:
                self._put(*unit.pieces)

    def _statement(self, text: str, pieces: tuple[Piece, ...]) -> None:
        if not self.gate.attentive or self._awaited.skipping:
            self._put(*pieces)
            return
        parking, status = self.gate.parking, self._awaited.status
        chain = parking.chains.of(self, stays=status != IDLE)
        if status == IDLE:
            self._transaction = Transaction.EMPTY
        if for_its_own_sake(text, status) or self._is_a_habit(text):
            self._put(*pieces)
            return
        self._transaction = Transaction.ASKED_FOR
        place = parking.places.next(chain, head(text))
        self.held = Statement(self, place, text, pieces)
        self.gate.arrived(self.held)

    def _is_a_habit(self, text: str) -> bool:
        """Tell whether the service says it of its own accord, or ends what it so began."""
        habits = self.gate.habits
        if ends(text):
            return habits.listening or self._transaction is Transaction.HABITS
        asked_for = self._transaction is Transaction.ASKED_FOR and not habits.listening
        if asked_for or not habits.takes(words(text)):
            return False
        self._transaction = Transaction.HABITS
        self.gate.parking.chains.belongs(self, BACKGROUND)
        return True

    def _put(self, *pieces: Piece, whose: Statement | None = None, lost: bool = False) -> None:
        for piece in pieces:
            self._out.append(piece.data)
            if piece.first:
                self._awaited.asked(Owed(piece.kind, whose, lost=lost))

    # What becomes of a statement

    def pass_on(self, statement: Statement) -> None:
        """Send a statement that was held, and what may follow it."""
        self.held = None
        self._put(*statement.pieces, whose=statement)
        if self.gate.parking.armed and not statement.simple and statement.whole:
            self._out.append(wire.FLUSH)
        self._go_on()

    def pass_on_and_lose(self, statement: Statement) -> None:
        """Send it; once the server has done it, end the connection, and its answer with it."""
        self.held = None
        self._put(*statement.pieces, whose=statement, lost=True)
        if statement.simple:
            self._loss = Loss.SEALED
        else:
            self._loss = Loss.PASSED if statement.whole else Loss.PASSING
        self._go_on()

    def _take_lost(self, piece: Piece) -> None:
        """Take what a client says behind a statement whose answer will be lost."""
        if not piece.first or piece.kind in _COPIED:
            self._put(piece)
        elif self._loss is Loss.PASSING:
            self._put(piece, lost=True)
            if piece.kind == b"E":
                self._loss = Loss.PASSED
        elif self._loss is Loss.PASSED:
            self._loss = Loss.SEALED
            if piece.kind == b"S":
                self._put(piece, lost=True)
            else:
                self._out.append(wire.FLUSH)
                self._send()
                self._end_if_lost()

    def refuse(self, statement: Statement, refusal: Refusal) -> None:
        """Have the server answer it with an error."""
        self.held = None
        commit = commits(statement.text) and self._awaited.status == IN_TRANSACTION
        if refusal.fatal:
            self.client.say(refusal.message)
            self.end()
            return
        if statement.simple:
            text, instead = refusal.brought_about(commit=commit)
            self._out.append(wire.query(text))
            self._awaited.asked(Owed(b"Q", statement, instead=instead))
            self._discard_rest_of(statement.pieces[-1])
        elif statement.whole:
            self._refuse_execute(statement.pieces, refusal, commit=commit)
        else:
            self._put(*statement.pieces, whose=statement)
            self._refusing = refusal
        self._go_on()

    def _refuse_execute(self, pieces: tuple[Piece, ...], refusal: Refusal, *, commit: bool) -> None:
        """Send what makes the statement and its portal, and in place of the Execute our own."""
        *before, _ = pieces
        self._put(*before)
        text, instead = refusal.brought_about(commit=commit)
        for kind, data in wire.run_apart(_OURS, text):
            self._out.append(data)
            execute = kind == b"E"
            owed: Owed[Statement] = Owed(
                kind, quiet=not execute, instead=instead if execute else {}
            )
            self._awaited.asked(owed)
        self._out.append(wire.FLUSH)
        self._discarding = commit  # to the server nothing went wrong, so it would read on

    def _discard_rest_of(self, piece: Piece) -> None:
        """Drop what is still to come of a large message that is not sent."""
        self._dropping = not piece.last

    def _go_on(self) -> None:
        self._send()
        self._advance()

    # From the server

    def _from_server(self, data: bytes) -> None:
        if self._blocked is not None and self._blocked.keeps(data):
            return
        self.hear(data)

    def wake(self) -> None:
        """Let what was blocked go on: nothing more is kept back."""
        self._blocked = None

    def hear(self, data: bytes) -> None:
        """Take in what the server says."""
        try:
            pieces = self._heard.feed(data)
        except wire.Garbled as problem:
            self.gate.complaints.append(f"the server does not speak PostgreSQL's: {problem}")
            self.cut()
            return
        out = [told for piece in pieces if (told := self._told(piece))]
        self.client.say(out[0] if len(out) == 1 else b"".join(out))
        if self._loss is Loss.SEALED:
            self._end_if_lost()

    def _told(self, piece: Piece) -> bytes:
        """Return what the client is told when the server says something."""
        kind, data, first, _ = piece
        owed = self._awaited.head
        lost = owed is not None and owed.lost and kind != b"G"
        if not first or kind in {b"D", b"d"}:
            return b"" if lost else data
        if settled := self._awaited.came(kind, data):
            for each in settled:
                if each.whose is not None and each.kind in _DOES:
                    self.gate.parking.answered(each.whose.place)
            self.gate.parking.stir()
        if kind == b"E" and self._awaited.skipping and self.held is not None:
            self.held.release()  # the server will not do it
        if kind == b"K":
            self._key = wire.backend_key(data)
            self.pid = wire.backend_pid(self._key)
            self.gate.known_by(self._key, self)
        elif kind == b"R" and self._tls:
            return wire.without_channel_binding(data)
        if owed is None:
            return data
        if lost or (owed.quiet and kind in _DONE):
            return b""
        instead = owed.instead.get(kind, data)
        return instead if kind != b"E" or wire.sqlstate(instead) == wire.sqlstate(data) else data

    def _end_if_lost(self) -> None:
        """End the connection if what was to be lost has been done."""
        if not self._awaited.owes_lost:
            self.end()

    # The ends

    def _server_gone(self) -> None:
        if self._blocked is not None:
            self._blocked.release()  # what was said before is heard first
        super()._server_gone()

    def _client_gone(self) -> None:
        if self._blocked is not None:
            self._blocked.withdraw()
        super()._client_gone()
        self.gate.forget_key(self._key)
