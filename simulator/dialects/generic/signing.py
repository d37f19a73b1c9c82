"""Signatures as Standard Webhooks 1.0.0 has them: HMAC-SHA256 over ``id.timestamp.body``."""

import base64
import hmac


def sign(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``."""
    content = f"{event_id}.{timestamp}.".encode() + body
    digest = hmac.digest(secret_bytes(secret), content, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def secret_bytes(secret: str) -> bytes:
    """Return the key that a secret stands for. Raises ``ValueError`` if it is no base64."""
    return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
