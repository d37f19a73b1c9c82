"""One client's way through a gate, whatever the store speaks: two sides, and what is between them.

Rule 1: what the client says stands in one queue; what is held stands at its head, so nothing
        overtakes it. When too much has queued up behind it, the client is read no further.
Rule 2: whoever leaves takes along what is held for them.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from onecharge.engine.gates.gate import Gate, Held
from onecharge.engine.gates.sides import Side


class Piece(Protocol):
    """A part of what a client says."""

    @property
    def data(self) -> bytes:
        """The bytes, as they came."""
        ...


PieceT = TypeVar("PieceT", bound=Piece)
HeldT = TypeVar("HeldT", bound=Held)


class Way(ABC, Generic[PieceT, HeldT]):
    """A client, its connection to the server, and what stands between them.

    ``backlog`` is how many bytes may stand behind what is held. The server's side is there once
    it is known which server is meant.
    """

    gate: Gate
    _server: Side | None

    def __init__(self, gate: Gate, backlog: int) -> None:
        self.gate = gate
        self.client = Side(self._from_client, self._client_gone)
        self.held: HeldT | None = None
        self._server = None
        self._over = False
        self._backlog = backlog
        self._queue: deque[PieceT] = deque()
        self._queued = 0
        self._advancing = False

    def cut(self) -> None:
        """Close both sides at once."""
        self._over = True
        self._take_back()
        self.client.cut()
        if self._server is not None:
            self._server.cut()

    def end(self) -> None:
        """Close both sides; the client gets what was meant for it before."""
        self._over = True
        self._take_back()
        self.client.finish()
        if self._server is not None:
            self._server.cut()

    def hear_later(self, seconds: float) -> None:
        """Hear nothing of the server for so long; what it says meanwhile waits."""
        if self._server is not None:
            self._server.be_silent("slow")
            asyncio.get_running_loop().call_later(seconds, self._server.speak, "slow")

    def rest(self) -> None:
        """Do nothing: most stores have nobody wait for a lock."""

    def _take_in(self, pieces: Iterable[PieceT], size: int) -> None:
        """Queue up what came, ``size`` bytes of it, and go on."""
        self._queue.extend(pieces)
        self._queued += size
        self._advance()

    def _advance(self) -> None:
        """Take what may be taken, in order, up to what is held."""
        if self._advancing:
            return
        self._advancing = True
        while self._queue and self.held is None:
            piece = self._queue.popleft()
            self._queued -= len(piece.data)
            self._take(piece)
        self._advancing = False
        self._send()
        if self.held is not None and self._queued > self._backlog:
            self.client.be_silent("held")
        else:
            self.client.speak("held")

    @abstractmethod
    def _from_client(self, data: bytes) -> None: ...

    @abstractmethod
    def _take(self, piece: PieceT) -> None: ...

    @abstractmethod
    def _send(self) -> None:
        """Send what was put together for the server, if anything was."""

    def _client_gone(self) -> None:
        self._over = True
        self._take_back()
        self.gate.left(self)
        if self._server is not None:
            self._server.finish()

    def _server_gone(self) -> None:
        self._take_back()
        self.client.finish()

    @property
    @abstractmethod
    def working(self) -> bool:
        """Whether the next move is the server's."""

    def _take_back(self) -> None:
        held, self.held = self.held, None
        if held is not None:
            held.withdraw()
        self._queue.clear()
