"""Whether a key is taken is read where it is seen only a while later, and nothing else guards it.

The guard was to ask where the key is written. Modelled on report A38 (spree PR #4499): the mark of
a payment under way was set in a transaction that nobody else could see into.
"""

from datetime import timedelta

from sqlalchemy import ColumnElement

from reference_impl.mutants._stores import LooksThenInserts
from reference_impl.reservation import Lease
from reference_impl.schema import operations

VIOLATES = "one_charge_per_key"
CLASS = "K16"
REPORT = "A38"
SHOWN_BY = "parallel_same_key"


class Mutant(LooksThenInserts):
    lag = timedelta(seconds=0.2)

    def seen(self, lease: Lease) -> ColumnElement[bool]:
        return operations.c.created_at < lease.now - self.lag
