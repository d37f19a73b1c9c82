"""Two purchases of one customer over one amount are taken for one.

The guard was the client's key, which alone says what is a repetition. Without it a second coffee is
answered with the receipt of the first. Modelled on report B13 (developer-portal #1608): a key made
from the content blocked legitimate repeats.
"""

from sqlalchemy import ColumnElement, and_, or_

from reference_impl.mutants._stores import LooksFirst
from reference_impl.operation import Intent, Operation
from reference_impl.reservation import Reservation
from reference_impl.schema import operations

VIOLATES = "distinct_orders_are_all_charged"
CLASS = "K20"
REPORT = "B13"
SHOWN_BY = "equal_purchases"


class Mutant(LooksFirst):
    def has_the_key(self, new: Reservation) -> ColumnElement[bool]:
        had, asked, its_own = operations.c, new.asked, super().has_the_key(new)
        if not isinstance(asked, Intent):
            return its_own
        alike = and_(had.customer == asked.customer, had.amount_minor == asked.amount_minor)
        return or_(its_own, alike)

    def same_intent(self, known: Operation, new: Reservation) -> bool:
        asked = new.asked
        another = isinstance(asked, Intent) and asked.order != known.intent.order
        return another or super().same_intent(known, new)
