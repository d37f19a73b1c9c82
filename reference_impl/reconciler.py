"""The reconciler comes back to operations whose owner died or gave up.

Rule 1: it takes an operation over by the same lease as everybody else, so any number of
        processes may run it at once, and beside any retry.
Rule 2: it finds out and never guesses: first it asks the provider by reference, then it
        repeats the call with the stored upstream key.
Rule 3: what stays unknown is left alone for twice as long each time.
"""

import asyncio
import logging
from datetime import datetime
from typing import Final

from reference_impl.charging import Charging
from reference_impl.operation import Operation

log = logging.getLogger(__name__)

BATCH: Final = 100
"""How many operations one run takes over; the rest is left to the next run or process."""


class Reconciler:
    """Resolves unknown outcomes to the truth."""

    def __init__(self, charging: Charging) -> None:
        self.charging = charging

    async def run_once(self, now: datetime) -> int:
        """Come back to every operation that is free and due at ``now``; return how many."""
        batch = await self.charging.store.overdue(self.charging.lease(now), BATCH)
        async with asyncio.TaskGroup() as tasks:
            for operation in batch:
                tasks.create_task(self.resolve(operation))
        if batch:
            log.info("reconciled", extra={"operations": len(batch)})
        return len(batch)

    async def resolve(self, operation: Operation) -> None:
        """Find out what became of one operation that is now ours."""
        # A look shows how much went back, only a replay names the refund that did it.
        look_first = operation.kind != "refund"
        known = await self.charging.pursue(operation, look_first=look_first)
        self.charging.metrics.reconciled.labels(known.status).inc()
