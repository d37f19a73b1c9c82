"""The reconciler looks a charge up, finds none, and calls it failed.

The guard was that a call may still be on its way: it is repeated under the same upstream key, whose
answer is definite. Modelled on report B14 (killbill #338): the janitor's verdict and the first
attempt's success crossed, and the customer paid twice.
"""

from reference_impl.operation import Operation
from reference_impl.outcomes import Absent, Failed
from reference_impl.reconciler import Reconciler

VIOLATES = "answers_tell_the_truth"
CLASS = "K35"
REPORT = "B14"
SHOWN_BY = "only_the_reconciler_is_left"


class Mutant(Reconciler):
    async def resolve(self, operation: Operation) -> None:
        look = await self.charging.look(operation)
        outcome = Failed("not_found") if isinstance(look, Absent) else look
        await self.charging.record(operation, outcome)
