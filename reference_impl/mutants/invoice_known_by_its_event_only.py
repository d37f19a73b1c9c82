"""An invoice is charged for every event that tells of it.

The guard was one charge per invoice, beside the event's id. Modelled on report C25 (vexa #519): the
sender minted a new id for each emission, and customers were billed four times.
"""

from reference_impl.event import Invoice
from reference_impl.inbox import Inbox
from reference_impl.reservation import Reservation

VIOLATES = "one_charge_per_key"
CLASS = "K28"
REPORT = "C25"
SHOWN_BY = "invoices_come_under_new_ids"


class Mutant(Inbox):
    def invoice_reservation(self, event_id: str, invoice: Invoice) -> Reservation:
        by_event = invoice.model_copy(update={"id": event_id})
        return super().invoice_reservation(event_id, by_event)
