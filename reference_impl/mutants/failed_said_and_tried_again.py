"""What is not known is told as a failure, and tried again behind the customer's back.

The guard was to say that it is being worked on as long as it is. Without it a charge begins after
its customer was told that there is none, and has paid elsewhere. Modelled on report B20
(opencollective #2285): taken for not charged, and charged days later.
"""

from reference_impl.answers import Reply, problem
from reference_impl.charging import Charging
from reference_impl.operation import Intent

VIOLATES = "no_zombie_charge"
CLASS = "K22"
REPORT = "B20"
SHOWN_BY = "keys_said_to_be_busy"


class Mutant(Charging):
    async def charge(self, tenant: str, key: str, intent: Intent) -> Reply:
        reply = await super().charge(tenant, key, intent)
        if reply.status == 202:
            return problem(402, "declined", "the charge was not made: no answer")
        return reply
