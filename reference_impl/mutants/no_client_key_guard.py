"""The key is looked up, and only then inserted; nothing marks it as in flight.

The guard was ``INSERT … ON CONFLICT DO NOTHING`` on the unique client key. Without it, a request
that arrives while the first one runs finds no finished charge and makes its own, with an
upstream key of its own. Modelled on report A16 (django-idempotency-key #61): the lock covers only
the look-up.
"""

from typing import Any

from sqlalchemy import insert, or_, select, text

from reference_impl.charge import Charge
from reference_impl.reservation import Lease, Reservation
from reference_impl.rows import as_charge, reserved_row
from reference_impl.schema import charges
from reference_impl.store import Store

VIOLATES = "one_charge_per_key"
CLASS = "K02"
REPORT = "A16"


class Mutant(Store):
    async def create_tables(self) -> None:
        await super().create_tables()
        async with self.transaction() as connection:
            drop = "alter table charges drop constraint if exists one_charge_per_key"
            await connection.execute(text(drop))

    async def claim(self, connection: Any, new: Reservation, lease: Lease) -> Charge | None:
        row = charges.c
        visible = or_(row.status != "in_flight", row.lease_until <= lease.now)
        known = select(row.id).where(row.tenant == new.tenant, row.key == new.key, visible)
        if (await connection.execute(known)).first() is not None:
            return None
        inserting = insert(charges).values(reserved_row(new, lease)).returning(charges)
        return as_charge((await connection.execute(inserting)).mappings().one())
