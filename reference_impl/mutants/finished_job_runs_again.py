"""A job that is done goes back to the queue, and is done again, for ever.

The guard was that only what is open is due. The upstream key saves the money; the provider is
called without end. Modelled on report D01 (celery #3270 and others): one task, given to worker
after worker.
"""

import asyncio
from contextlib import suppress

from reference_impl.operation import Operation
from reference_impl.outcomes import Answer
from reference_impl.reconciler import Reconciler

VIOLATES = "quiet_after_convergence"
CLASS = "K34"
REPORT = "D01"
SHOWN_BY = "only_the_reconciler_is_left"


class Mutant(Reconciler):
    async def resolve(self, operation: Operation) -> None:
        await super().resolve(operation)
        self.job = asyncio.create_task(self.again(operation))

    async def again(self, operation: Operation) -> None:
        with suppress(RuntimeError):  # the service has ended, and with it its connections
            while isinstance(await self.charging.call(operation), Answer):
                await asyncio.sleep(0.05)
