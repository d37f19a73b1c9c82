"""Where clients come in: a port that can be shut for a while and opened again.

Rule 1: while it is shut, whoever knocks is refused by the operating system, as by a server that
        does not run; and the port stays the same, since clients do not ask for it twice.
Rule 2: a port below those that the system serves outgoing connections from, so that nobody is
        given it in the meantime (``onecharge/world/ports.py``).
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Final

from onecharge.world.ports import LOOPBACK, free_port

_ATTEMPTS: Final = 20
_BACKLOG: Final = 512


class Door:
    """A listening port on this machine."""

    def __init__(self, welcome: Callable[[], asyncio.BaseProtocol]) -> None:
        self._welcome = welcome
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def is_open(self) -> bool:
        """Whether clients can come in."""
        return self._server is not None

    async def open(self) -> None:
        """Listen: on a free port at first, later on the same."""
        assert not self.is_open
        taken = self._bound()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._welcome, sock=taken, backlog=_BACKLOG)

    async def shut(self) -> None:
        """Listen no more. Connections that exist are not touched."""
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)  # uvloop closes the socket in the loop's next round

    def _bound(self) -> socket.socket:
        for attempts_left in reversed(range(_ATTEMPTS)):
            port = self.port or free_port()
            try:
                listening = socket.create_server((LOOPBACK, port), backlog=_BACKLOG)
            except OSError as problem:
                if problem.errno != errno.EADDRINUSE or self.port or not attempts_left:
                    raise
            else:
                self.port = port
                listening.setblocking(False)
                return listening
        raise AssertionError("the last attempt returns or raises")
