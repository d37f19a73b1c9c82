"""Webhooks: the event as a body, and its signature.

Rule 1: the signature is over the bytes as sent: ``{timestamp}.{body}``, HMAC-SHA256, hex, keyed by
        the whole secret. While a secret is being rotated there is one ``v1`` for each.
Rule 2: the body is indented, as the real one is: who parses it and writes it anew before checking
        the signature gets other bytes, and finds out here.
"""

import hmac
import json
from typing import Final

from simulator.core.events import Event
from simulator.core.messages import HttpRequest
from simulator.dialects.stripe.objects import event_object

EVENT_TYPES: Final = {
    "intent.created": "payment_intent.created",
    "intent.processing": "payment_intent.processing",
    "intent.capturable": "payment_intent.amount_capturable_updated",
    "intent.succeeded": "payment_intent.succeeded",
    "intent.failed": "payment_intent.payment_failed",
    "intent.cancelled": "payment_intent.canceled",
    "charge.pending": "charge.pending",
    "charge.approved": "charge.succeeded",
    "charge.captured": "charge.captured",
    "charge.failed": "charge.failed",
    "charge.released": "charge.expired",
    "charge.refunded": "charge.refunded",
    "refund.created": "refund.created",
    "customer.created": "customer.created",
    "customer.updated": "customer.updated",
    "customer.deleted": "customer.deleted",
    "method.attached": "payment_method.attached",
    "method.detached": "payment_method.detached",
}
"""What the desk calls its news, and what this provider does."""


def message(event: Event, url: str, secrets: tuple[str, ...], wall_s: float) -> HttpRequest:
    """Return the signed POST that tells ``url`` of an event."""
    body = json.dumps(event_object(event, pending=1), indent=2).encode()
    headers = {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
        "stripe-signature": signature(secrets, int(wall_s), body),
    }
    return HttpRequest("POST", url, headers=headers, body=body)


def signature(secrets: tuple[str, ...], timestamp: int, body: bytes) -> str:
    """Return the value of ``Stripe-Signature``."""
    content = f"{timestamp}.".encode() + body
    signed = (hmac.digest(secret.encode(), content, "sha256").hex() for secret in secrets)
    return ",".join((f"t={timestamp}", *(f"v1={each}" for each in signed)))
