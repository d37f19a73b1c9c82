"""The answer finds that the webhook has finished the order already, and gives the money back.

The guard was that both paths book one charge, and a constraint lets one through. Without it
whoever comes second takes itself for a duplicate. Modelled on report C07 (medusa #2341, #13301):
the loser's compensation refunded a good payment.
"""

from dataclasses import replace

from reference_impl.charging import Charging
from reference_impl.operation import Operation
from reference_impl.outcomes import Outcome

VIOLATES = "refunds_never_exceed"
CLASS = "K31"
REPORT = "C07"
SHOWN_BY = "event_and_second_click_meanwhile"


class Mutant(Charging):
    async def record(self, operation: Operation, outcome: Outcome) -> Operation:
        known = await self.store.charge(operation.tenant, operation.id)
        if known is not None and known.status == "succeeded":
            undone = replace(known, kind="refund", charge=known.id)
            await self.provider.call(undone, f"undo-{known.id}")
        return await super().record(operation, outcome)
