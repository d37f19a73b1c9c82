"""A timeout or a reset of a charge is recorded as a failure, and the client is told 402.

The guard was that an unknown outcome stays unknown until the provider has been asked. Without it
the customer is told that nothing was taken while the money is gone, and pays again. Modelled on
report B16 (aws-samples x402 #40): a settle timeout became ``settlement_failed``.
"""

from reference_impl.charging import Charging
from reference_impl.operation import CHARGES, Operation
from reference_impl.outcomes import Answer, Failed, Lost, Outcome

VIOLATES = "answers_tell_the_truth"
CLASS = "K22"
REPORT = "B16"
SHOWN_BY = "replies_cut_short"


class Mutant(Charging):
    def classify(self, answer: Answer | Lost, operation: Operation) -> Outcome:
        if isinstance(answer, Lost) and operation.kind in CHARGES:
            return Failed(f"provider_{answer.how}")
        return super().classify(answer, operation)
