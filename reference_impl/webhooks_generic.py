"""The generic provider's webhooks: Standard Webhooks by the official library.

Rule 1: the event's id comes from the signed header, the rest from the signed body.
Rule 2: what an event means is read off the charge it shows, never off its type: types have
        aliases and arrive in any order, the charge says what is the case.
Rule 3: an ``invoice.due`` is the one event that asks for something; it is known by its type.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from pydantic import BaseModel
from standardwebhooks import Webhook

from reference_impl.event import Event, Invoice
from reference_impl.outcomes import ProviderCharge, ProviderRefund

INVOICE_DUE: Final = "invoice.due"


class GenericWebhooks:
    """Verifies and reads the generic provider's events."""

    def __init__(self, secrets: Sequence[str], tolerance: timedelta) -> None:
        self._verifiers = [Webhook(secret) for secret in secrets]
        self._tolerance = tolerance

    def authentic(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """Say whether the provider wrote this, lately; during a rotation, with either secret."""
        return any(self._signed(verifier, headers, body, now) for verifier in self._verifiers)

    def read(self, headers: Mapping[str, str], body: bytes) -> Event:
        """Return the event in an authentic body; raise pydantic's ``ValidationError`` if none."""
        event_id = headers["webhook-id"]
        message = _Message.model_validate_json(body)
        if message.type == INVOICE_DUE:
            invoice = _InvoiceMessage.model_validate_json(body).data.invoice
            return Event(event_id, message.type, invoice=invoice)
        return Event(event_id, message.type, message.data.charge, message.data.refund)

    def _signed(
        self, verifier: Webhook, headers: Mapping[str, str], body: bytes, now: datetime
    ) -> bool:
        try:
            verifier.verify(body, dict(headers), json_parse=False)
            signed_at = datetime.fromtimestamp(float(headers["webhook-timestamp"]), now.tzinfo)
        except Exception:  # noqa: BLE001 - garbled headers raise ValueError, binascii.Error and more
            return False
        # The library has a tolerance of its own, five minutes; ours may be narrower.
        return abs(now - signed_at) <= self._tolerance


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
