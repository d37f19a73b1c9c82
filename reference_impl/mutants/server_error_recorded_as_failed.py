"""A server error of the provider's is recorded as a failure.

The guard was that an error proves nothing: the charge may have been made before it. Modelled on
report B17 (pay-connector #443, #3962): captures that had happened were recorded as errors.
"""

from reference_impl.charging import Charging
from reference_impl.operation import Operation
from reference_impl.outcomes import Answer, Failed, Lost, Outcome

VIOLATES = "answers_tell_the_truth"
CLASS = "K22"
REPORT = "B17"
SHOWN_BY = "errors_after_commit"


class Mutant(Charging):
    def classify(self, answer: Answer | Lost, operation: Operation) -> Outcome:
        if isinstance(answer, Answer) and answer.status >= 500:
            return Failed("provider_error")
        return super().classify(answer, operation)
