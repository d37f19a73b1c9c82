"""A charge that was recorded as failed stays so, whatever the provider says later.

The guard was that money which moved is believed, from whoever tells of it. Modelled on report C34
(opencollective): what came after the end was thrown away, and paid orders stayed as they were.
"""

from reference_impl.decisions import Decision
from reference_impl.operation import Operation
from reference_impl.outcomes import Outcome
from reference_impl.store import Store

VIOLATES = "answers_tell_the_truth"
CLASS = "K30"
REPORT = "C34"
SHOWN_BY = "bad_news_before_good_news"  # unfair, and the reference claims to withstand it


class Mutant(Store):
    def decide(self, charge: Operation, outcome: Outcome) -> Decision:
        return Decision() if charge.status == "failed" else super().decide(charge, outcome)
