"""An operation as this service knows it: a charge, or a capture or refund of one.

Rule 1: these are values; nothing here does I/O or knows how an operation came to be settled.
Rule 2: a fingerprint covers the fields that state the intent, and nothing else: no header, no
        whitespace, no order of members.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from reference_impl.answers import Reply

Kind = Literal["charge", "invoice", "capture", "refund"]
"""What is done. An ``invoice`` is a charge that an event asked for, not a client."""

Status = Literal["in_flight", "authorised", "succeeded", "failed"]

CHARGES: Final[frozenset[Kind]] = frozenset({"charge", "invoice"})
"""The kinds that make a charge; the others change one."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What the merchant wants: one order paid once. Without ``capture`` it is only authorised."""

    order: str
    amount_minor: int
    currency: str
    customer: str
    capture: bool = True

    def fingerprint(self) -> str:
        return _digest(
            self.order, self.amount_minor, self.currency, self.customer, int(self.capture)
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What the merchant wants done to a charge; no amount means all that there is."""

    kind: Literal["capture", "refund"]
    charge: str
    amount_minor: int | None = None

    def fingerprint(self) -> str:
        return _digest(self.kind, self.charge, self.amount_minor)


@dataclass(frozen=True, slots=True)
class Operation:
    """One key's operation, as its row stands. ``charge`` is our id of the charge it changes."""

    id: str
    kind: Kind
    tenant: str
    intent: Intent
    fingerprint: str
    upstream_key: str
    created_at: datetime
    lease_token: int = 1
    status: Status = "in_flight"
    charge: str | None = None
    provider_charge: str | None = None
    provider_refund: str | None = None
    captured_minor: int = 0
    refunded_minor: int = 0
    refunded_before_minor: int = 0
    asked: int = 0
    failure: str | None = None
    reply: Reply | None = None

    def __repr__(self) -> str:
        intent = self.intent
        what = f"{self.kind} {self.id} {self.status}"
        return f"<Operation {what} {intent.amount_minor} {intent.currency} minor>"


def _digest(*stated: str | int | None) -> str:
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()
