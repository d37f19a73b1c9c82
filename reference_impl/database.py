"""The database of this service: its connections, its tables, and what is read from it.

Rule 1: every method is one transaction or one statement, so what it returns was true at once.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, and_, func, or_, select, text
from sqlalchemy.engine import URL, RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from reference_impl.migrations import upgrade
from reference_impl.operation import Operation
from reference_impl.rows import account, as_operation
from reference_impl.schema import ledger, operations

SCHEMA_LOCK: Final = 7_302_218_841
"""Processes that start at once migrate the tables one after the other."""

A_CHARGE: Final = operations.c.charge_id.is_(None)
OPEN: Final = operations.c.status == "in_flight"


class Database:
    """Connections to one PostgreSQL database, and the reading side of the store."""

    def __init__(self, url: URL) -> None:
        self.engine: AsyncEngine = create_async_engine(url, pool_size=10, max_overflow=20)

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
        found = await self._read(operations.c.tenant == tenant, operations.c.id == charge_id)
        return found[0] if found else None

    async def charges_for(self, tenant: str, order: str) -> list[Operation]:
        """Return the charges for an order, the latest first."""
        return await self._read(operations.c.tenant == tenant, operations.c.order == order)

    async def given_back(self, tenant: str, order: str) -> dict[str, int]:
        """Return what is booked as given back of each of an order's charges, by their ids."""
        charge = operations.c.id
        booked = (
            select(charge, func.sum(ledger.c.amount_minor))
            .join(operations, charge == ledger.c.charge_id)
            .where(operations.c.tenant == tenant, operations.c.order == order)
            .where(ledger.c.kind == "refund")
            .group_by(charge)
        )
        async with self.transaction() as connection:
            return {id_: int(minor) for id_, minor in (await connection.execute(booked)).all()}

    async def entries(self, tenant: str, customer: str) -> Sequence[RowMapping]:
        """Return all entries of a customer's account, the first first."""
        name = account(customer)
        credited = and_(ledger.c.credit == name, ledger.c.kind == "charge")
        debited = and_(ledger.c.debit == name, ledger.c.kind == "refund")
        async with self.transaction() as connection:
            rows = await connection.execute(
                select(ledger, operations.c.order, operations.c.provider_charge)
                .join(operations)
                .where(ledger.c.tenant == tenant, or_(credited, debited))
                .order_by(ledger.c.booked_at, ledger.c.id)
            )
            return rows.mappings().all()

    async def oldest_unknown(self) -> datetime | None:
        """Return since when the oldest operation with an unknown outcome has been open."""
        async with self.transaction() as connection:
            oldest = select(func.min(operations.c.created_at)).where(OPEN, operations.c.asked > 0)
            since: datetime | None = (await connection.execute(oldest)).scalar_one()
            return since

    async def ping(self) -> None:
        """Raise unless the database answers."""
        async with self.engine.connect() as connection:
            await connection.execute(text("select 1"))

    async def close(self) -> None:
        await self.engine.dispose()

    async def _read(self, *where: ColumnElement[bool]) -> list[Operation]:
        latest_first = (operations.c.created_at.desc(), operations.c.id)
        async with self.transaction() as connection:
            rows = await connection.execute(
                select(operations).where(A_CHARGE, *where).order_by(*latest_first)
            )
            return [as_operation(row) for row in rows.mappings()]
