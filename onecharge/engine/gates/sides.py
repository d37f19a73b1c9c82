"""The two ends of a connection that somebody stands in the middle of.

Rule 1: a side that cannot take more bytes stops the other from giving any: nothing piles up here.
Rule 2: a side may be told to be silent for more than one reason; it speaks when none is left.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import cast


class Unreachable(Exception):
    """No connection to the server can be made; says why."""


class Side(asyncio.Protocol):
    """One end: towards the client, or towards the server."""

    def __init__(self, heard: Callable[[bytes], None], gone: Callable[[], None]) -> None:
        self._heard = heard
        self._gone = gone
        self._transport: asyncio.Transport | None = None
        self._silent_for: set[str] = set()
        self.other: Side | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: asyncio calls this."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is of no such class
        # asyncio sees to this only for sockets that name their protocol, which a door's do not.
        # Otherwise two small writes are 40 ms apart: the second waits for an answer to the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._silent_for:
            self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Pass on what came: asyncio calls this."""
        self._heard(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # why is all one
        """End: asyncio calls this."""
        self._gone()

    def pause_writing(self) -> None:
        """Have the other side give no more, since this one is full."""
        if self.other is not None:
            self.other.be_silent("full")

    def resume_writing(self) -> None:
        """Have the other side go on."""
        if self.other is not None:
            self.other.speak("full")

    def be_silent(self, reason: str) -> None:
        """Read no more until the reason is gone."""
        if not self._silent_for and self._transport is not None:
            _unless_closing(self._transport, self._transport.pause_reading)
        self._silent_for.add(reason)

    def speak(self, reason: str) -> None:
        """Forget a reason to be silent."""
        if reason not in self._silent_for:
            return
        self._silent_for.discard(reason)
        if not self._silent_for and self._transport is not None:
            _unless_closing(self._transport, self._transport.resume_reading)

    def say(self, data: bytes) -> None:
        """Send bytes; none are sent on a connection that is closed."""
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def finish(self) -> None:
        """Close, once everything said has been sent."""
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """Close at once; what has not been sent is lost."""
        if self._transport is not None:
            self._transport.abort()


def _unless_closing(transport: asyncio.Transport, do: Callable[[], None]) -> None:
    if not transport.is_closing():
        do()
