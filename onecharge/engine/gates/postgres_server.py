"""Where the PostgreSQL behind a gate is, and how a connection to it is made.

Rule 1: the words of the URL mean what they mean to libpq: host, port, ``sslmode`` and what belongs
        to it. ``prefer``, which is what holds where nothing is said, takes TLS where it is given.
Rule 2: the service speaks to the gate in the clear, on this machine; what the URL asks for is
        between the gate and the server. So the gate's URL says nothing of TLS.
"""

import asyncio
import socket
import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from psycopg.conninfo import conninfo_to_dict

from onecharge.engine.gates.sides import Side, Unreachable
from onecharge.engine.gates.wire.postgres import WANTS_TLS
from onecharge.world.ports import LOOPBACK

_OF_THE_CONNECTION: Final = frozenset(
    {"host", "hostaddr", "port", "gssencmode", "channel_binding", "requiressl"}
)
_NO_TLS: Final = frozenset({"disable", "allow"})
_MUST_BE_TLS: Final = frozenset({"require", "verify-ca", "verify-full"})
_FILES: Final[tuple[str, ...]] = ("sslrootcert", "sslcert", "sslkey")
_MODES: Final = _NO_TLS | _MUST_BE_TLS | {"prefer"}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """Where a server listens, and how it wants to be spoken to."""

    host: str
    port: int
    sslmode: str = "prefer"
    tls: dict[str, str] = field(default_factory=dict)
    """What else the URL says of TLS: ``sslrootcert``, ``sslcert``, ``sslkey``."""

    @classmethod
    def of(cls, url: str) -> "PostgresServer":
        """Read a URL. Raises ``ValueError`` for one that a gate can do nothing with."""
        said: dict[str, Any] = {**conninfo_to_dict(url)}
        host = str(said.get("hostaddr") or said.get("host") or LOOPBACK)
        port = str(said.get("port") or 5432)
        if "," in host or "," in port:
            raise ValueError(f"a gate stands before one server, and the URL names several: {host}")
        mode = str(said.get("sslmode") or "prefer")
        if mode not in _MODES:
            raise ValueError(f"sslmode: expected one of {', '.join(sorted(_MODES))}, not {mode!r}")
        tls: dict[str, str] = {name: said[name] for name in _FILES if name in said}
        return cls(host, int(port), mode, tls)

    async def connect(self, side: Side) -> bool:
        """Connect a side to the server; return whether it speaks TLS. Raises ``Unreachable``."""
        try:
            return await self._connect(side)
        except (OSError, ssl.SSLError) as problem:
            raise Unreachable(f"PostgreSQL at {self.host}:{self.port}: {problem}") from problem

    async def _connect(self, side: Side) -> bool:
        loop = asyncio.get_running_loop()
        plug = await self._plug()
        if self.host.startswith("/") or self.sslmode in _NO_TLS:
            await loop.create_connection(lambda: side, sock=plug)
            return False
        await loop.sock_sendall(plug, WANTS_TLS)
        answer = await loop.sock_recv(plug, 1)  # not a byte more: what follows is TLS
        if answer == b"S":
            await loop.create_connection(
                lambda: side, sock=plug, ssl=self._context(), server_hostname=self.host
            )
            return True
        if answer != b"N" or self.sslmode in _MUST_BE_TLS:
            plug.close()
            raise Unreachable(
                f"PostgreSQL at {self.host}:{self.port}: the URL says sslmode={self.sslmode}, and"
                f" the server {'speaks no TLS' if answer == b'N' else f'answers {answer!r}'}"
            )
        await loop.create_connection(lambda: side, sock=plug)
        return False

    async def _plug(self) -> socket.socket:
        """Return a connected socket, of the first address that answers."""
        loop = asyncio.get_running_loop()
        if self.host.startswith("/"):
            path = f"{self.host}/.s.PGSQL.{self.port}"
            return await _connected(socket.AF_UNIX, path)
        found = await loop.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        problem = OSError(f"no address of {self.host}")
        for family, _, _, _, address in found:
            try:
                plug = await _connected(family, address)
            except OSError as why:
                problem = why
            else:
                plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return plug
        raise problem

    def _context(self) -> ssl.SSLContext:
        roots = self.tls.get("sslrootcert")
        known = None if roots in {None, "system"} else roots
        context = ssl.create_default_context(cafile=known)
        context.check_hostname = self.sslmode == "verify-full"
        if self.sslmode in {"prefer", "require"} and known is None:
            context.verify_mode = ssl.CERT_NONE
        if "sslcert" in self.tls:
            context.load_cert_chain(self.tls["sslcert"], self.tls.get("sslkey"))
        return context


async def _connected(family: int, address: Any) -> socket.socket:
    plug = socket.socket(family, socket.SOCK_STREAM)
    plug.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(plug, address)
    except BaseException:
        plug.close()
        raise
    return plug


def through(url: str, port: int) -> str:
    """Return the URL of the same database by way of a gate that listens on a port."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    said = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name not in _OF_THE_CONNECTION and not name.startswith("ssl")
    ]
    return urlunsplit(parts._replace(netloc=f"{user}{at}{LOOPBACK}:{port}", query=urlencode(said)))
