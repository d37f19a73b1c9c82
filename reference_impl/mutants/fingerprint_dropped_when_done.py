"""The fingerprint is dropped when an operation is done, so an honest retry looks like another body.

The guard was a fingerprint that is kept as long as its key. Modelled on report A14
(powertools-typescript #1499, #5705): an identical retry was refused as changed.
"""

from reference_impl.operation import Operation
from reference_impl.reservation import Reservation
from reference_impl.store import Store

VIOLATES = "replays_are_faithful"
CLASS = "K12"
REPORT = "A14"
SHOWN_BY = "honest_retries_look_different"


class Mutant(Store):
    def same_intent(self, known: Operation, new: Reservation) -> bool:
        return known.status == "in_flight" and super().same_intent(known, new)
