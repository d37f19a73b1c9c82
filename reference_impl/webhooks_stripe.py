"""Stripe's webhooks: its signature by the official library, its objects in our words.

Rule 1: what an event means is read off the object it shows, never off its type. So
        ``payment_intent.succeeded``, ``charge.succeeded`` and ``charge.captured`` are one payment,
        told three times, in whatever order.
Rule 2: a failed charge is one try at an intent; only the intent says that it is over.
Rule 3: the event's id is the signed body's. An event of a connected account is not ours.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import stripe
from pydantic import BaseModel, ConfigDict

from reference_impl.event import Event
from reference_impl.outcomes import ProviderCharge, ProviderRefund
from reference_impl.stripe_objects import STATUSES, UNDONE, charge_shown


class StripeWebhooks:
    """Verifies and reads Stripe's events."""

    def __init__(self, secrets: Sequence[str], tolerance: timedelta) -> None:
        self._secrets = secrets
        self._tolerance = tolerance

    def authentic(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """Say whether the provider wrote this, lately; during a rotation, with either secret."""
        header = headers.get("stripe-signature", "")
        return any(self._signed(secret, header, body, now) for secret in self._secrets)

    def read(self, headers: Mapping[str, str], body: bytes) -> Event:  # noqa: ARG002 - none is needed
        """Return the event in an authentic body; raise pydantic's ``ValidationError`` if none."""
        message = _Message.model_validate_json(body)
        charge, refund, shown = None, None, message.data.object
        if message.account is None:
            match shown.get("object"):
                case "payment_intent":
                    charge = _charge_of_intent(shown)
                case "charge":
                    charge = _Charge.model_validate(shown).in_our_words()
                case "refund":
                    refund = _Refund.model_validate(shown).in_our_words()
        return Event(message.id, message.type, charge, refund)

    def _signed(self, secret: str, header: str, body: bytes, now: datetime) -> bool:
        try:
            stripe.WebhookSignature.verify_header(body, header, secret)
        except (stripe.SignatureVerificationError, ValueError):
            return False
        # The library tolerates any time to come; what it accepted has exactly one "t".
        signed_at = next(part[2:] for part in header.split(",") if part.startswith("t="))
        return abs(now - datetime.fromtimestamp(int(signed_at), now.tzinfo)) <= self._tolerance


def _charge_of_intent(shown: dict[str, Any]) -> ProviderCharge | None:
    intent = _Intent.model_validate(shown)
    return ProviderCharge.model_validate(charge_shown(shown)) if intent.status in STATUSES else None


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True)


class _Data(_Strict):
    object: dict[str, Any]


class _Message(_Strict):
    id: str
    type: str
    account: str | None = None
    data: _Data


class _Intent(_Strict):
    id: str
    status: str
    amount: int
    amount_received: int
    currency: str
    metadata: dict[str, str] = {}


class _Charge(_Strict):
    payment_intent: str | None
    status: str
    captured: bool
    amount: int
    amount_captured: int
    amount_refunded: int
    currency: str
    metadata: dict[str, str] = {}

    def in_our_words(self) -> ProviderCharge | None:
        if self.payment_intent is None or self.status != "succeeded":
            return None
        return ProviderCharge(
            id=self.payment_intent,
            status="captured" if self.captured else "authorised",
            amount_minor=self.amount,
            captured_minor=self.amount_captured,
            refunded_minor=self.amount_refunded,
            currency=self.currency.upper(),
            reference=self.metadata.get("order_id"),
            metadata=self.metadata,
        )


class _Refund(_Strict):
    id: str
    payment_intent: str | None
    status: str | None
    amount: int

    def in_our_words(self) -> ProviderRefund | None:
        if self.payment_intent is None or self.status in UNDONE:
            return None
        return ProviderRefund(id=self.id, amount_minor=self.amount, charge=self.payment_intent)
