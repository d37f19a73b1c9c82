"""The key is looked up, and only then inserted; nothing marks it as in flight.

The guard was ``INSERT … ON CONFLICT DO NOTHING`` on the unique client key. Without it, a request
that arrives while the first one runs finds no finished charge and makes its own, with an
upstream key of its own. Modelled on report A16 (django-idempotency-key #61): the lock covers only
the look-up.
"""

from sqlalchemy import ColumnElement, or_

from reference_impl.mutants._stores import LooksThenInserts
from reference_impl.reservation import Lease
from reference_impl.schema import operations

VIOLATES = "one_charge_per_key"
CLASS = "K02"
REPORT = "A16"
SHOWN_BY = "parallel_same_key"


class Mutant(LooksThenInserts):
    def seen(self, lease: Lease) -> ColumnElement[bool]:
        return or_(operations.c.status != "in_flight", operations.c.lease_until <= lease.now)
