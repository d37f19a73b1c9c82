"""The reconciler repeats a call under a key of its own.

The guard was one upstream key for every path that pursues an intent. Modelled on report B02
(woocommerce-gateway-stripe #489): two handlers of one payment had two keys, and both charged.
"""

from dataclasses import replace

from reference_impl.operation import Operation
from reference_impl.reconciler import Reconciler

VIOLATES = "one_charge_per_key"
CLASS = "K19"
REPORT = "B02"
SHOWN_BY = "only_the_reconciler_is_left"


class Mutant(Reconciler):
    async def resolve(self, operation: Operation) -> None:
        own = replace(operation, upstream_key=f"reconciled-{operation.id}")
        await self.charging.pursue(own)
