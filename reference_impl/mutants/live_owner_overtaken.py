"""An operation that is being worked on is taken for an orphan, and worked on once more.

The guard was the lease that a live owner holds. Without it a second request overtakes the first
one and makes an attempt of its own, under an upstream key of its own. Modelled on report A11
(powertools-python #8386): a live record without an expiry was reclaimed.
"""

from datetime import datetime

from reference_impl.charging import Charging
from reference_impl.operation import Operation
from reference_impl.reservation import Lease

VIOLATES = "one_charge_per_key"
CLASS = "K04"
REPORT = "A11"
SHOWN_BY = "slow_provider_impatient_customers"


class Mutant(Charging):
    def lease(self, now: datetime) -> Lease:
        return Lease(now, now)

    def upstream_key(self, operation: Operation) -> str:
        return f"{operation.upstream_key}-{operation.lease_token}"
