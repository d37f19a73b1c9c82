"""The upstream key is the order's, whatever became of the last attempt at it.

The guard was a new upstream key for a new client key. Without it an order that was declined once
can't be paid any more: the provider still holds the key. Modelled on report B12
(checkout-woocommerce #361): customers were locked out for a day.
"""

from reference_impl.charging import Charging
from reference_impl.operation import CHARGES, Operation

VIOLATES = "every_order_settles"
CLASS = "K21"
REPORT = "B12"
SHOWN_BY = "declined_and_paid_otherwise"


class Mutant(Charging):
    def upstream_key(self, operation: Operation) -> str:
        by_order = f"order-{operation.intent.order}"
        return by_order if operation.kind in CHARGES else operation.upstream_key
