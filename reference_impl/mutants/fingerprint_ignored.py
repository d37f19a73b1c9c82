"""A key that comes again with another body is answered as if it were the same.

The guard was the fingerprint of what was asked, compared wherever the key is found. Modelled on
report A13 (powertools-typescript #2058 and its siblings): the path of a failed conditional write
skipped the comparison, and another payload was replayed in silence.
"""

from reference_impl.operation import Operation
from reference_impl.reservation import Reservation
from reference_impl.store import Store

VIOLATES = "mismatches_move_no_money"
CLASS = "K11"
REPORT = "A13"
SHOWN_BY = "same_key_other_body"


class Mutant(Store):
    def same_intent(self, known: Operation, new: Reservation) -> bool:
        return True
