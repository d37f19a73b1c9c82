"""A key is looked up without asking whose it is: one tenant is given another's charge.

The guard was the tenant as a part of the key. Modelled on report A29 (idempotent #217 and others):
the caller was the constant ``authenticated``.
"""

from sqlalchemy import ColumnElement, and_

from reference_impl.mutants._stores import LooksFirst
from reference_impl.operation import Operation
from reference_impl.reservation import Reservation
from reference_impl.schema import operations

VIOLATES = "tenants_are_isolated"
CLASS = "K13"
REPORT = "A29"
SHOWN_BY = "two_tenants_one_key"


class Mutant(LooksFirst):
    def has_the_key(self, new: Reservation) -> ColumnElement[bool]:
        return and_(operations.c.kind == new.kind, operations.c.key == new.key)

    def same_intent(self, known: Operation, new: Reservation) -> bool:
        return known.tenant != new.tenant or super().same_intent(known, new)
