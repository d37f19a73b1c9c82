"""A key that comes again with another body is another key, and is charged as well.

The guard was that a key belongs to one intent, and is refused with any other. Without it a cart
that changes between two clicks is paid twice. Modelled on report B30 (woocommerce-payments
#6977): what was begun for one order paid for another, with another amount.
"""

from reference_impl.charging import Charging
from reference_impl.operation import Intent
from reference_impl.reservation import Reserved

VIOLATES = "mismatches_move_no_money"
CLASS = "K11"
REPORT = "B30"
SHOWN_BY = "same_key_other_body"


class Mutant(Charging):
    async def reserve(self, tenant: str, key: str, intent: Intent) -> Reserved:
        return await super().reserve(tenant, f"{key}-{intent.fingerprint()}", intent)
