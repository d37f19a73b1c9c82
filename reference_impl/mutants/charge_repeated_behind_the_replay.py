"""A retry is given the stored answer, byte for byte, and the charge is made again behind it.

The guard was that a key which has its answer calls nobody. No answer ever shows it: only the
provider's ledger does. Class K08; report: none, it was found in packages.
"""

from uuid import uuid4

from reference_impl.answers import Reply
from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "one_charge_per_key"
CLASS = "K08"
REPORT = "none"
SHOWN_BY = "pressed_again_after_success"


class Mutant(Charging):
    async def replay(self, operation: Operation) -> Reply:
        await self.provider.call(operation, uuid4().hex)
        return await super().replay(operation)
