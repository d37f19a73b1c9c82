"""Charges carry their upstream key, refunds a fresh one each time.

The guard was one stored upstream key for every operation that moves money. Without it a refund
whose answer was lost is made again. Modelled on report B01 (woocommerce-gateway-stripe #2339): the
header was set for one endpoint only.
"""

from uuid import uuid4

from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "refunds_never_exceed"
CLASS = "K17"
REPORT = "B01"
SHOWN_BY = "refunds_lose_their_replies"


class Mutant(Charging):
    def upstream_key(self, operation: Operation) -> str:
        return uuid4().hex if operation.kind == "refund" else operation.upstream_key
