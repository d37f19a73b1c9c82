"""How a client's connection to the gate before PostgreSQL begins, until it is known what it wants.

Rule 1: encryption is declined, be it TLS or GSS: between the service and the gate it is spoken in
        the clear, on this machine. Whoever does not ask is refused by name.
Rule 2: a cancellation is no session. What it means may be held here, and is cancelled here then.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from onecharge.engine.gates.postgres_refusals import REFUSALS
from onecharge.engine.gates.sides import Side, Unreachable
from onecharge.engine.gates.wire import postgres as wire

if TYPE_CHECKING:
    from onecharge.engine.gates.postgres_gate import PostgresGate

DIRECT_TLS: Final = (
    "a client speaks TLS without asking (sslnegotiation=direct); the gate speaks no TLS towards"
    " the service: let its driver connect with the URL that it is given"
)


class Opening:
    """What a client says first. ``begin`` is called once it begins a session."""

    def __init__(
        self, gate: "PostgresGate", client: Side, begin: Callable[[wire.Startup], None]
    ) -> None:
        self._gate = gate
        self._client = client
        self._begin = begin
        self._unread = b""

    def hear(self, data: bytes) -> None:
        """Take in what a client says; ``Garbled`` if that is not PostgreSQL's protocol."""
        self._unread += data
        while (read := wire.read_opening(self._unread)) is not None:
            wanted, self._unread = read
            match wanted:
                case wire.Encryption():
                    self._client.say(wire.DECLINED)
                    continue
                case wire.DirectTls():
                    self._gate.complaints.append(DIRECT_TLS)
                    self._client.say(wire.TLS_ALERT)
                    self._client.finish()
                case wire.Cancel():
                    self._client.be_silent("opening")
                    self._gate.later(asyncio.create_task(self._cancel(wanted)))
                case wire.Startup() if self._gate.full:
                    self._client.say(REFUSALS["53300"].message)
                    self._client.finish()
                case wire.Startup():
                    self._client.be_silent("opening")
                    self._begin(wanted)
            return

    def over(self) -> bytes:
        """Let the client speak on, and return what it said behind its first packet."""
        unread, self._unread = self._unread, b""
        self._client.speak("opening")
        return unread

    async def _cancel(self, cancel: wire.Cancel) -> None:
        """Pass a cancellation on, or cancel what is held here (rule 2)."""
        if (held := self._gate.held_by(cancel.key)) is not None:
            held.refuse("57014")
            self._client.finish()
            return
        done = asyncio.Event()
        server = Side(lambda _: None, done.set)
        try:
            await self._gate.server.connect(server)
            server.say(cancel.packet)
            await done.wait()
        except Unreachable as problem:
            self._gate.complaints.append(str(problem))
        finally:
            server.cut()
            self._client.finish()
