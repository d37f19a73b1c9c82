"""A key is not bound to what was asked for: a refund under the charge's key is answered with it.

The guard was the kind of operation as a part of the key. Modelled on report A30 (devlink #1195):
one resource was returned under the key of another, and what was asked never ran.
"""

from sqlalchemy import ColumnElement, and_

from reference_impl.operation import Operation
from reference_impl.reservation import Reservation
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "mismatches_move_no_money"
CLASS = "K13"
REPORT = "A30"
SHOWN_BY = "one_key_for_charge_and_refund"


class Mutant(Store):
    def has_the_key(self, new: Reservation) -> ColumnElement[bool]:
        return and_(operations.c.tenant == new.tenant, operations.c.key == new.key)

    def same_intent(self, known: Operation, new: Reservation) -> bool:
        return known.kind != new.kind or super().same_intent(known, new)
