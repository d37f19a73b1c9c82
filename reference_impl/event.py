"""An event of the provider: a fact, told at least once and in any order.

Rule 1: what an event means is read off the charge it shows, never off its type: types have
        aliases and arrive in any order, the charge says what is the case.
Rule 2: an ``invoice.due`` is the one event that asks for something; it is known by its type.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reference_impl.operation import Intent, Operation
from reference_impl.outcomes import Outcome, ProviderCharge, ProviderRefund, told

INVOICE_DUE: Final = "invoice.due"

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Amount = Annotated[int, Field(gt=0, le=10**12)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Invoice(BaseModel):
    """What the provider's billing asks us to charge."""

    model_config = ConfigDict(strict=True)

    id: Name
    order: Name
    amount_minor: Amount
    currency: Currency
    customer: Name

    def intent(self) -> Intent:
        return Intent(self.order, self.amount_minor, self.currency, self.customer)


class _Data(BaseModel):
    charge: ProviderCharge | None = None
    refund: ProviderRefund | None = None


class _Message(BaseModel):
    type: str
    data: _Data = _Data()


class _InvoiceData(BaseModel):
    invoice: Invoice


class _InvoiceMessage(BaseModel):
    data: _InvoiceData


@dataclass(frozen=True, slots=True)
class Event:
    """One event. The id comes from the signed header, the rest from the signed body."""

    id: str
    type: str
    charge: ProviderCharge | None = None
    refund: ProviderRefund | None = None
    invoice: Invoice | None = None

    @property
    def provider_charge(self) -> str | None:
        return None if self.charge is None else self.charge.id

    @property
    def moved_money(self) -> bool:
        return self.charge is not None and self.charge.status in {"captured", "refunded"}

    def outcome(self, charge: Operation) -> Outcome:
        """Say what this event proves about ``charge``."""
        assert self.charge is not None, "an event without a charge proves nothing about one"
        return told(self.charge, charge)


def read_event(event_id: str, body: bytes) -> Event:
    """Return the event in a verified body; raise pydantic's ``ValidationError`` if it is none."""
    message = _Message.model_validate_json(body)
    if message.type == INVOICE_DUE:
        invoice = _InvoiceMessage.model_validate_json(body).data.invoice
        return Event(event_id, message.type, invoice=invoice)
    return Event(event_id, message.type, message.data.charge, message.data.refund)
