"""Whether a key is taken is read where it is seen only a while later, and nothing else guards it.

The guard was to ask where the key is written. Modelled on report A38 (spree PR #4499): the mark of
a payment under way was set in a transaction that nobody else could see into.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import insert, select

from reference_impl.mutants._stores import Without
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.rows import as_operation
from reference_impl.schema import operations

VIOLATES = "one_charge_per_key"
CLASS = "K16"
REPORT = "A38"
SHOWN_BY = "parallel_same_key"


class Mutant(Without):
    lacks = ("one_operation_per_key",)
    lag = timedelta(seconds=0.2)

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        visible = operations.c.created_at < lease.now - self.lag
        known = select(operations.c.id).where(self.has_the_key(new), visible)
        if (await connection.execute(known)).first() is not None:
            return None
        inserting = insert(operations).values(row).returning(operations)
        return Owned(as_operation((await connection.execute(inserting)).mappings().one()))
