"""A charge as this service knows it, and the answers it gives about one.

Rule 1: these are values; nothing here does I/O or knows how a charge came to be settled.
Rule 2: an answer that was given once is stored and given again byte for byte.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, Literal

Status = Literal["in_flight", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class Intent:
    """What the merchant wants: one order paid once."""

    order: str
    amount_minor: int
    currency: str
    customer: str

    def fingerprint(self) -> str:
        """Return a digest of the fields that state the intent, and of nothing else."""
        stated = json.dumps([self.order, self.amount_minor, self.currency, self.customer])
        return hashlib.sha256(stated.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to an HTTP request, before it has headers."""

    status: int
    body: bytes
    retry_after_s: int | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Charge:
    """One client key's charge, as its row stands."""

    id: str
    tenant: str
    intent: Intent
    fingerprint: str
    upstream_key: str
    lease_token: int
    status: Status
    provider_charge: str | None = None
    failure: str | None = None
    reply: Reply | None = None

    def __repr__(self) -> str:
        intent = self.intent
        return f"<Charge {self.id} {self.status} {intent.amount_minor} {intent.currency} minor>"


def shown(charge: Charge) -> dict[str, Any]:
    """Return a charge as the API shows it."""
    return {
        "id": charge.id,
        "order": charge.intent.order,
        "status": "processing" if charge.status == "in_flight" else charge.status,
        "amount_minor": charge.intent.amount_minor,
        "currency": charge.intent.currency,
        "customer": charge.intent.customer,
        "provider_charge": charge.provider_charge,
    }


def answer_for(charge: Charge) -> Reply:
    """Return the stored answer of a settled charge, or say that it is still being worked on."""
    return charge.reply or answer(202, shown(charge), retry_after_s=1)


def replay_of(charge: Charge) -> Reply:
    """Return the stored answer again, marked as a replay."""
    assert charge.reply is not None, "only a settled charge is replayed"
    return replace(charge.reply, replayed=True)


def final_answer(charge: Charge) -> Reply:
    """Make the answer that a settled charge gives from now on."""
    if charge.status == "succeeded":
        return answer(201, shown(charge))
    detail = f"not charged: {charge.failure}"
    return problem(402, "declined", detail, reason=charge.failure, charge=shown(charge))


def answer(status: int, value: Any, *, retry_after_s: int | None = None) -> Reply:
    """Return a JSON answer."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Reply(status, body, retry_after_s)


def problem(
    status: int, code: str, detail: str, *, retry_after_s: int | None = None, **more: Any
) -> Reply:
    """Return an error as problem+json (RFC 9457): a code for programs, a detail for people."""
    value = {"type": "about:blank", "status": status, "code": code, "detail": detail, **more}
    return answer(status, value, retry_after_s=retry_after_s)
