"""The provider is called inside the transaction that reserves; what is unclear rolls it back.

The guard was that no transaction spans a call. Without it an unknown outcome takes the row and
its upstream key with it, as if nothing had been sent; the retry charges again under a new key.
Modelled on report B18 (odoo #150102): a rolled-back request was run again, charge and all.
"""

from copy import copy

from reference_impl.answers import Reply
from reference_impl.charging import Charging
from reference_impl.mutants._stores import Within
from reference_impl.operation import Intent, Operation
from reference_impl.outcomes import Answer, Lost, Outcome, Unknown

VIOLATES = "one_charge_per_key"
CLASS = "K23"
REPORT = "B18"
SHOWN_BY = "lost_replies"


class Mutant(Charging):
    async def charge(self, tenant: str, key: str, intent: Intent) -> Reply:
        async with self.store.transaction() as connection:
            inside = copy(self)
            inside.store = Within(connection)
            return await super(Mutant, inside).charge(tenant, key, intent)

    def classify(self, answer: Answer | Lost, operation: Operation) -> Outcome:
        outcome = super().classify(answer, operation)
        if isinstance(outcome, Unknown):
            raise ConnectionError(outcome.why)  # the request fails, and with it its transaction
        return outcome
