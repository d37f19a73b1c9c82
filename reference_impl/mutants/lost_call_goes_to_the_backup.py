"""A call whose answer is lost is posted to the backup line at once, under another key.

The guard was that a lost call is repeated with its own upstream key, and with no other. Modelled on
report B25 (Paybox-Direct-Plus #11): after a timeout the same payment went to the backup host.
"""

from reference_impl.charging import Charging
from reference_impl.operation import Operation
from reference_impl.outcomes import Answer, Lost

VIOLATES = "one_charge_per_key"
CLASS = "K24"
REPORT = "B25"
SHOWN_BY = "lost_replies"


class Mutant(Charging):
    async def call(self, operation: Operation) -> Answer | Lost:
        answer = await super().call(operation)
        if isinstance(answer, Lost):
            return await self.provider.call(operation, f"backup-{operation.upstream_key}")
        return answer
