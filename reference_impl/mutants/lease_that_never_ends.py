"""Whoever dies at work leaves the key in flight, for days.

The guard was a lease that is over soon, so that a retry or the reconciler overtakes the dead.
Without it every retry is told to wait. Modelled on report A08 (express-idempotency #32): 409 for
three days, in production.
"""

from datetime import datetime, timedelta

from reference_impl.charging import Charging
from reference_impl.reservation import Lease

VIOLATES = "every_order_settles"
CLASS = "K05"
REPORT = "A08"
SHOWN_BY = None  # shown only when the killed process owned the key, so not every time


class Mutant(Charging):
    def lease(self, now: datetime) -> Lease:
        return Lease(now, now + timedelta(days=3))
