"""A failure that is told late undoes a success.

The guard was that what is known never goes back. Modelled on report C16 (adyen-shopware6 #311 and
others): the first attempt failed, the second paid, and the late news of the first flipped the
order.
"""

from dataclasses import replace

from reference_impl.decisions import Decision
from reference_impl.operation import Operation
from reference_impl.outcomes import Failed, Outcome
from reference_impl.store import Store

VIOLATES = "statuses_never_go_back"
CLASS = "K30"
REPORT = "C16"
SHOWN_BY = "late_bad_news"


class Mutant(Store):
    def decide(self, charge: Operation, outcome: Outcome) -> Decision:
        if isinstance(outcome, Failed) and charge.status == "succeeded":
            charge = replace(charge, status="in_flight", reply=None)
        return super().decide(charge, outcome)
