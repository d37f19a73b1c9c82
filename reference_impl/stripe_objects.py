"""Stripe's payment intent as the charge that it is to us.

Rule 1: a charge of ours is an intent, so the intent's id is the provider's charge, whichever of
        Stripe's objects tells of it.
"""

from typing import Any, Final

STATUSES: Final = {
    "succeeded": "captured",
    "requires_capture": "authorised",
    "processing": "pending",
    "canceled": "cancelled",
    "requires_payment_method": "pending",  # new, unless it says that a payment failed
    "requires_confirmation": "pending",
    "requires_action": "pending",
}

UNDONE: Final = frozenset({"failed", "canceled"})
"""A refund that is so gives nothing back."""


def charge_shown(intent: dict[str, Any]) -> dict[str, Any]:
    """Return a payment intent as ``outcomes.ProviderCharge`` reads it."""
    metadata = metadata_of(intent)
    latest = intent.get("latest_charge")
    failure = intent.get("last_payment_error") or {}
    return {
        "id": intent["id"],
        "status": _status(intent),
        "amount_minor": intent["amount"],
        "captured_minor": intent["amount_received"],
        "refunded_minor": latest["amount_refunded"] if isinstance(latest, dict) else 0,
        "currency": intent["currency"].upper(),
        "reference": metadata.get("order_id"),
        "metadata": metadata,
        "decline_code": failure.get("decline_code") or failure.get("code"),
    }


def _status(intent: dict[str, Any]) -> str:
    status: str = intent["status"]
    if status == "requires_payment_method" and intent.get("last_payment_error"):
        return "declined"  # for good: nobody but us confirms, and we do so only once
    return STATUSES.get(status, status)


def metadata_of(intent: dict[str, Any]) -> dict[str, str]:
    return dict(intent.get("metadata") or {})
