"""The reconciler comes back to charges whose owner died or gave up.

Rule 1: it takes a charge over by the same lease as everybody else, so any number of
        processes may run it at once, and beside any retry.
Rule 2: it finds out and never guesses: first it asks the provider by reference, then it
        repeats the call with the stored upstream key.
"""

import asyncio
import logging
from datetime import datetime
from typing import Final

from reference_impl.charging import Charging

log = logging.getLogger(__name__)

BATCH: Final = 100
"""How many charges one run takes over; the rest is left to the next run or process."""


class Reconciler:
    """Resolves unknown outcomes to the truth."""

    def __init__(self, charging: Charging) -> None:
        self.charging = charging

    async def run_once(self, now: datetime) -> int:
        """Come back to every charge whose lease is free at ``now``; return how many."""
        batch = await self.charging.store.overdue(self.charging.lease(now), BATCH)
        async with asyncio.TaskGroup() as tasks:
            for charge in batch:
                tasks.create_task(self.charging.pursue(charge, look_first=True))
        if batch:
            log.info("reconciled", extra={"charges": len(batch)})
        return len(batch)

    async def run_until(self, stopped: asyncio.Event, every_s: float) -> None:
        """Run every so often. A run that fails is logged, and the next one starts afresh."""
        while not await _came(stopped, every_s):
            try:
                await self.run_once(self.charging.surroundings.clock())
            except Exception:
                log.exception("a run of the reconciler failed")


async def _came(event: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            return await event.wait()
    except TimeoutError:
        return False
