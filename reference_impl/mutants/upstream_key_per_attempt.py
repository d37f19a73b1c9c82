"""Every call at the provider carries a fresh upstream key.

The guard was one upstream key per charge, stored before the first call. Without it the provider
takes a retry for a new charge: whenever an answer is lost, the customer pays again. Modelled on
report B05 (medusa #16292): the key was the id of a row that is made anew for a retry.
"""

from uuid import uuid4

from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "one_charge_per_key"
CLASS = "K18"
REPORT = "B05"
SHOWN_BY = "lost_replies"


class Mutant(Charging):
    def upstream_key(self, operation: Operation) -> str:
        return f"{operation.upstream_key}-{uuid4().hex}"
