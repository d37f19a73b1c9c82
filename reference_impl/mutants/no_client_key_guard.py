"""The key is looked up, and only then inserted; nothing marks it as in flight.

The guard was ``INSERT … ON CONFLICT DO NOTHING`` on the unique client key. Without it, a request
that arrives while the first one runs finds no finished charge and makes its own, with an
upstream key of its own. Modelled on report A16 (django-idempotency-key #61): the lock covers only
the look-up.
"""

from typing import Any

from sqlalchemy import insert, or_, select, text

from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.rows import as_operation
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "one_charge_per_key"
CLASS = "K02"
REPORT = "A16"


class Mutant(Store):
    async def migrate(self) -> None:
        await super().migrate()
        async with self.transaction() as connection:
            drop = "alter table operations drop constraint if exists one_operation_per_key"
            await connection.execute(text(drop))

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        had = operations.c
        visible = or_(had.status != "in_flight", had.lease_until <= lease.now)
        known = select(had.id).where(had.tenant == new.tenant, had.key == new.key, visible)
        if (await connection.execute(known)).first() is not None:
            return None
        inserting = insert(operations).values(row).returning(operations)
        return Owned(as_operation((await connection.execute(inserting)).mappings().one()))
