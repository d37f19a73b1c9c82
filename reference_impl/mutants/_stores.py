"""Stores that mistakes are made with; none of them is a mistake that anybody would notice alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

from sqlalchemy import ColumnElement, insert, select, text

from reference_impl.decisions import Entry
from reference_impl.event import Event
from reference_impl.operation import Operation
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.rows import as_operation, ledger_row
from reference_impl.schema import ledger, metadata, operations
from reference_impl.statements import OPEN
from reference_impl.store import Store

LOOKS: Final = 25
PAUSE_S: Final = 0.02


class Without(Store):
    """A store whose tables lack some constraints, by the names they have in ``schema.py``."""

    lacks: ClassVar[tuple[str, ...]] = ()

    async def migrate(self) -> None:
        await super().migrate()
        async with self.transaction() as connection:
            for table in metadata.tables.values():
                for name in {str(each.name) for each in table.constraints} & set(self.lacks):
                    drop = f"alter table {table.name} drop constraint if exists {name}"
                    await connection.execute(text(drop))


class LooksThenInserts(Without):
    """A store that looks for the key where it can be ``seen``, and if it is not, inserts it."""

    lacks = ("one_operation_per_key",)

    def seen(self, lease: Lease) -> ColumnElement[bool]:
        raise NotImplementedError

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        known = select(operations.c.id).where(self.has_the_key(new), self.seen(lease))
        if (await connection.execute(known)).first() is not None:
            return None
        inserting = insert(operations).values(row).returning(operations)
        return Owned(as_operation((await connection.execute(inserting)).mappings().one()))


class CreditsByWebhook(Without):
    """A store that books what events tell, as it is told; answers of the provider book nothing."""

    lacks = ("one_entry_per_effect",)

    async def book(
        self, connection: Any, charge: Operation, entry: Entry, now: Any, told_by: Any = None
    ) -> None:
        if told_by is not None:
            row = ledger_row(charge, entry, now, told_by)
            await connection.execute(insert(ledger).values(row))


class WaitsForTheAnswer(CreditsByWebhook):
    """A store that can wait a moment until the charge of an event is no longer in flight."""

    async def in_flight_still(self, event: Event) -> bool:
        """Say whether it is, patience being over."""
        order = event.charge and event.charge.reference
        asked = select(operations.c.status).where(OPEN, operations.c.order == order)
        for _ in range(LOOKS):
            async with self.transaction() as connection:
                if (await connection.execute(asked)).first() is None:
                    return False
            await asyncio.sleep(PAUSE_S)
        return True


class LooksFirst(Store):
    """A store that looks who has a key before it claims it."""

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        if await self.holder(connection, new) is not None:
            return None
        return await super().claim(connection, new, row, lease)


class Within(Store):
    """A store whose every transaction is part of one that somebody else has begun."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        yield self.connection
