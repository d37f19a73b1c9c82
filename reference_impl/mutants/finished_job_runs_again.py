"""A job that is done stays on the list, and runs again whenever somebody looks at the list.

The guard was that only what is open is due. The upstream key saves the money; the provider is
called for ever. Modelled on report D01 (celery #3270 and others): one task, given to worker after
worker.
"""

from functools import cached_property

from reference_impl.operation import Operation
from reference_impl.reconciler import Reconciler

VIOLATES = "quiet_after_convergence"
CLASS = "K34"
REPORT = "D01"


class Mutant(Reconciler):
    @cached_property
    def jobs(self) -> list[Operation]:
        return []

    async def resolve(self, operation: Operation) -> None:
        self.jobs.extend([operation] * 3)  # one for each worker
        for job in self.jobs:
            await self.charging.call(job)
        await super().resolve(operation)
