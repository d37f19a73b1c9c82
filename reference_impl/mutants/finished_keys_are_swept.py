"""Keys are swept away a moment after they were done with, while customers still press.

The guard was a retention that outlasts every retry. Modelled on report A23 (caura PR #1629): a
claim aged out, and the retry that came after it was executed a second time.
"""

from datetime import timedelta
from typing import Any

from sqlalchemy import update

from reference_impl.reservation import Lease, Reservation
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "one_charge_per_key"
CLASS = "K14"
REPORT = "A23"
SHOWN_BY = "restarted_between_presses"


class Mutant(Store):
    kept = timedelta(seconds=0.5)

    async def claim(self, connection: Any, new: Reservation, row: Any, lease: Lease) -> Any:
        had = operations.c
        old = update(operations).where(
            had.status != "in_flight", had.created_at < lease.now - self.kept
        )
        await connection.execute(old.values(key=had.id))
        return await super().claim(connection, new, row, lease)
