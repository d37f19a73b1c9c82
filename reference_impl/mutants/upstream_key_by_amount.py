"""The upstream key is made of the customer, the amount and the day.

The guard was a key that belongs to one operation. Without it a second purchase over the same
amount is refused by the provider, as the first one's key with another body, until midnight.
Modelled on report B11 (onetimesecret #2605).
"""

from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "every_order_settles"
CLASS = "K20"
REPORT = "B11"
SHOWN_BY = "equal_purchases"


class Mutant(Charging):
    def upstream_key(self, operation: Operation) -> str:
        intent, today = operation.intent, self.surroundings.clock()
        return f"{operation.kind}-{intent.customer}-{intent.amount_minor}-{today:%Y-%m-%d}"
