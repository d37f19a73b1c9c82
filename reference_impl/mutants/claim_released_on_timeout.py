"""A call that timed out gives its key back, as if nothing had been sent.

The guard was that what is unknown stays there, with its upstream key. Without it the retry begins
anew, and charges again. Modelled on report A10 (powertools-python #8049): a record expired with
its call, and the same withdrawal was made once more.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete

from reference_impl.operation import Operation
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "one_charge_per_key"
CLASS = "K06"
REPORT = "A10"
SHOWN_BY = "lost_replies_and_late_events"


class Mutant(Store):
    async def free(
        self, connection: Any, operation: Operation, now: datetime, back_off: timedelta
    ) -> None:
        await connection.execute(delete(operations).where(operations.c.id == operation.id))
