"""The gate before a PostgreSQL: statements of a service in any language, held one by one.

It stands between a service and its server, and the service is given its URL (``url``). Whatever
the driver does goes through unharmed: the simple and the extended protocol, pipelines, COPY, named
statements, cancellations, notifications.

Rule 1: no byte is lost, changed or moved. What is held delays what comes after it on the same
        connection, and nothing else.
Rule 2: a statement is held before the server hears of any part of it: its Query, or its Parse,
        Bind and Describe together with its Execute. So its snapshot is that of its release.
Rule 3: an error that is asked for is made by the server itself, which knows best what becomes of
        the transaction; the gate only gives it the words and the code.
Rule 4: who is gone takes back what was held; the server never hears of it.

What it is not: a way around TLS. It declines TLS and GSS encryption towards the service, and
refuses by name a client that speaks TLS without asking.
"""

import asyncio
from collections.abc import Collection

from onecharge.engine.gates.gate import Gate, Held, OrderOf, nobodys
from onecharge.engine.gates.postgres_connection import Gated
from onecharge.engine.gates.postgres_server import PostgresServer, through
from onecharge.engine.parking import Parking


class PostgresGate(Gate):
    """A gate before one server."""

    def __init__(
        self, server_url: str, parking: Parking | None = None, *, order_of: OrderOf = nobodys
    ) -> None:
        super().__init__(parking, order_of=order_of)
        self.server = PostgresServer.of(server_url)
        self.full = False
        """Whether new connections are refused as by a server that has too many (53300)."""
        self._by_key: dict[bytes, Gated] = {}

    def __repr__(self) -> str:
        return f"<PostgresGate at port {self.port}, {self.connections} connection(s)>"

    def url(self, database_url: str) -> str:
        """Return the URL of one of the server's databases by way of the gate."""
        return through(database_url, self.port)

    def working_pids(self) -> tuple[int, ...]:
        """Return the server's processes whose move is the next: they work, or wait for a lock.

        When each of them waits for a lock (``pg_stat_activity``) and nothing else moves, nothing
        will, until something is released.
        """
        return tuple(
            each.pid for each in self._connections if isinstance(each, Gated) and each.working
        )

    def passing_pids(self) -> frozenset[int]:
        """Return the server's processes that do what the service asks for of its own accord."""
        return frozenset(
            each.pid for each in self._connections if isinstance(each, Gated) and each.passing
        )

    def chains_of(self, pids: Collection[int]) -> list[str]:
        """Return the chains whose statements these of the server's processes work on."""
        known = self.parking.chains.known
        working = [each for each in self._connections if isinstance(each, Gated) and each.working]
        chains = (known(each) for each in working if each.pid in pids)
        return sorted(chain for chain in chains if chain is not None)

    def known_by(self, key: bytes, connection: Gated) -> None:
        """Remember who a cancellation with this key would mean."""
        self._by_key[key] = connection

    def forget_key(self, key: bytes) -> None:
        """Forget a connection that is gone."""
        self._by_key.pop(key, None)

    def held_by(self, key: bytes) -> Held | None:
        """Return what is held of the connection that a cancellation means."""
        meant = self._by_key.get(key)
        return meant.held if meant is not None else None

    def _welcome(self) -> asyncio.BaseProtocol:
        return Gated(self).client
