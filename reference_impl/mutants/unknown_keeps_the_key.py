"""An outcome that is not known keeps its key busy, and nobody comes back to it.

The guard was that an unknown outcome frees the lease, for the retry and for the reconciler.
Modelled on report A39 (medusa #1887): keys ended as conflicted, and only a new cart helped.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update

from reference_impl.operation import Operation
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "every_order_settles"
CLASS = "K05"
REPORT = "A39"
SHOWN_BY = "errors_before_commit"


class Mutant(Store):
    async def free(
        self, connection: Any, operation: Operation, now: datetime, back_off: timedelta
    ) -> None:
        row = update(operations).where(operations.c.id == operation.id)
        await connection.execute(row.values(lease_until=now + timedelta(days=3)))
