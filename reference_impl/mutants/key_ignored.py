"""The key is asked for, and nobody looks at it: every request is a charge of its own.

The guard was the unique client key. Modelled on report A35 (lago-api #5870): two identical
requests made two paid transactions, while the same product's other interface knew the key.
"""

from uuid import uuid4

from reference_impl.charging import Charging
from reference_impl.operation import Intent
from reference_impl.reservation import Reserved

VIOLATES = "one_charge_per_key"
CLASS = "K01"
REPORT = "A35"
SHOWN_BY = "pressed_again_after_success"


class Mutant(Charging):
    async def reserve(self, tenant: str, key: str, intent: Intent) -> Reserved:
        return await super().reserve(tenant, f"{key}-{uuid4().hex}", intent)
