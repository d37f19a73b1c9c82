"""Every delivery of an ``invoice.due`` charges the customer.

The guard was that the event's id and the invoice's are claimed with the charge. Modelled on report
C14 (press #1175): a handler slower than its sender ran once more for each retry.
"""

from dataclasses import replace
from uuid import uuid4

from reference_impl.event import Event
from reference_impl.inbox import Inbox
from reference_impl.store import TakenIn

VIOLATES = "one_charge_per_key"
CLASS = "K25"
REPORT = "C14"
SHOWN_BY = "invoices_come_more_than_once"


class Mutant(Inbox):
    async def take_in(self, event: Event) -> TakenIn:
        if event.invoice is not None:
            anew = uuid4().hex
            invoice = event.invoice.model_copy(update={"id": anew})
            event = replace(event, id=anew, invoice=invoice)
        return await super().take_in(event)
