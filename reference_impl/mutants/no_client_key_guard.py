"""The key is looked up, and only then inserted; nothing marks it as in flight.

The guard was ``INSERT … ON CONFLICT DO NOTHING`` on the unique client key. Without it, a request
that arrives while the first one runs finds no finished charge and makes its own, with an
upstream key of its own. Modelled on report A16 (django-idempotency-key #61): the lock covers only
the look-up.
"""

from typing import Any

from sqlalchemy import insert, or_, select

from reference_impl.mutants._stores import Without
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.rows import as_operation
from reference_impl.schema import operations

VIOLATES = "one_charge_per_key"
CLASS = "K02"
REPORT = "A16"
SHOWN_BY = "parallel_same_key"


class Mutant(Without):
    lacks = ("one_operation_per_key",)

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        free = or_(operations.c.status != "in_flight", operations.c.lease_until <= lease.now)
        known = select(operations.c.id).where(self.has_the_key(new), free)
        if (await connection.execute(known)).first() is not None:
            return None
        inserting = insert(operations).values(row).returning(operations)
        return Owned(as_operation((await connection.execute(inserting)).mappings().one()))
