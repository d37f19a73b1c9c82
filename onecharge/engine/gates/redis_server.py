"""Where the Redis behind a gate is, and how a connection to it is made.

Rule 1: ``redis://`` is in the clear and ``rediss://`` under TLS; ``unix://`` is a socket's path.
Rule 2: the service speaks to the gate in the clear, on this machine; TLS is between the gate and
        the server.
"""

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from onecharge.engine.gates.sides import Side, Unreachable
from onecharge.engine.gates.wire.redis import Frames, command
from onecharge.world.ports import LOOPBACK

_SCHEMES: Final = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class RedisServer:
    """Where a server listens."""

    host: str
    port: int
    path: str = ""
    tls: bool = False
    greeting: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """What a connection of ours says first: who it is, and which database it means."""

    @classmethod
    def of(cls, url: str) -> "RedisServer":
        """Read a URL. Raises ``ValueError`` for one that a gate can do nothing with."""
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES:
            raise ValueError(f"expected a URL that begins with redis:// or rediss://, not {url!r}")
        said: list[tuple[str, ...]] = []
        if parts.password:
            user = (unquote(parts.username),) if parts.username else ()
            said.append(("AUTH", *user, unquote(parts.password)))
        if parts.scheme == "unix":
            return cls("", 0, parts.path, greeting=tuple(said))
        if (database := parts.path.strip("/")) not in {"", "0"}:
            said.append(("SELECT", database))
        host, port = parts.hostname or LOOPBACK, parts.port or 6379
        return cls(host, port, tls=parts.scheme == "rediss", greeting=tuple(said))

    async def connect(self, side: Side) -> None:
        """Connect a side to the server. Raises ``Unreachable``."""
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context() if self.tls else None
        try:
            if self.path:
                await loop.create_unix_connection(lambda: side, self.path)
            else:
                await loop.create_connection(lambda: side, self.host, self.port, ssl=context)
        except OSError as problem:
            raise Unreachable(f"Redis at {self.path or self.host}:{self.port}: {problem}") from None

    async def asks(self, *said: tuple[str | bytes, ...]) -> list[bytes]:
        """Say commands on a connection of our own; return the answers as they came."""
        frames, answers = Frames(), asyncio.Queue[bytes | None]()

        def heard(data: bytes) -> None:
            for piece in frames.feed(data):
                assert piece.last, "an answer of more than the commands of ours have"
                answers.put_nowait(piece.data)

        side = Side(heard, lambda: answers.put_nowait(None))
        await self.connect(side)
        told: list[bytes] = []
        try:
            for each in (*self.greeting, *said):
                side.say(command(*each))
                if (answer := await answers.get()) is None:
                    raise Unreachable(f"Redis at {self.host}:{self.port}: it hung up")
                if answer.startswith(b"-"):
                    raise Unreachable(f"Redis at {self.host}:{self.port}: {answer.decode()}")
                told.append(answer)
        finally:
            side.cut()
        return told[len(self.greeting) :]


def through(url: str, port: int) -> str:
    """Return the URL of the same database by way of a gate that listens on a port."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    path = "" if parts.scheme == "unix" else parts.path
    return urlunsplit(("redis", f"{user}{at}{LOOPBACK}:{port}", path, parts.query, ""))
