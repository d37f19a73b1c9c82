"""The database of this service: its connections, its tables, and what is read from it.

Rule 1: every method is one transaction or one statement, so what it returns was true at once.
Rule 2: what is only read is a statement by itself: BEGIN and COMMIT would be two of three round
        trips.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from sqlalchemy import Executable, func, select
from sqlalchemy.engine import URL, RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from reference_impl.migrations import upgrade
from reference_impl.operation import Operation
from reference_impl.rows import account, as_operation
from reference_impl.statements import CHARGE, CHARGES_FOR_ORDER, ENTRIES, OLDEST_UNKNOWN, PING

SCHEMA_LOCK: Final = 7_302_218_841
"""Processes that start at once migrate the tables one after the other."""

CONNECTIONS: Final = 30
"""So many at most are open, and stay open: to log in anew costs more than most transactions."""


class Database:
    """Connections to one PostgreSQL database, and the reading side of the store."""

    def __init__(self, url: URL) -> None:
        self.engine: AsyncEngine = create_async_engine(url, pool_size=CONNECTIONS, max_overflow=0)
        self._reading = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Begin, and commit unless an exception passes."""
        async with self.engine.begin() as connection:
            yield connection

    async def migrate(self) -> None:
        """Bring the tables to the version that this code knows."""
        async with self.transaction() as connection:
            await connection.execute(select(func.pg_advisory_xact_lock(SCHEMA_LOCK)))
            await connection.run_sync(upgrade)

    async def charge(self, tenant: str, charge_id: str) -> Operation | None:
        rows = await self._read(CHARGE, tenant=tenant, its_id=charge_id)
        return next(map(as_operation, rows), None)

    async def charges_for(self, tenant: str, order: str) -> list[tuple[Operation, int]]:
        """Return the charges for an order, the latest first, each with what it has given back."""
        rows = await self._read(CHARGES_FOR_ORDER, tenant=tenant, its=order)
        return [(as_operation(row), int(row["given_back_minor"])) for row in rows]

    async def entries(self, tenant: str, customer: str) -> Sequence[RowMapping]:
        """Return all entries of a customer's account, the first first."""
        return await self._read(ENTRIES, tenant=tenant, account=account(customer))

    async def oldest_unknown(self) -> datetime | None:
        """Return since when the oldest operation with an unknown outcome has been open."""
        [row] = await self._read(OLDEST_UNKNOWN)
        since: datetime | None = row["since"]
        return since

    async def ping(self) -> None:
        """Raise unless the database answers."""
        await self._read(PING)

    async def close(self) -> None:
        await self.engine.dispose()

    async def _read(self, statement: Executable, **values: str) -> Sequence[RowMapping]:
        async with self._reading.connect() as connection:
            return (await connection.execute(statement, values)).mappings().all()
