"""Rows and values: how one becomes the other, in one place for each table."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy.engine import RowMapping

from reference_impl.charge import Charge, Intent, Reply
from reference_impl.decisions import Entry
from reference_impl.reservation import Lease, Reservation


def reserved_row(new: Reservation, lease: Lease) -> dict[str, Any]:
    """Return a new charge's row: in flight, owned by whoever inserts it."""
    return {
        "id": new.id,
        "tenant": new.tenant,
        "key": new.key,
        "fingerprint": new.intent.fingerprint(),
        "order": new.intent.order,
        "amount_minor": new.intent.amount_minor,
        "currency": new.intent.currency,
        "customer": new.intent.customer,
        "upstream_key": new.upstream_key,
        "lease_until": lease.until,
        "created_at": lease.now,
    }


def ledger_row(charge: Charge, entry: Entry, now: datetime) -> dict[str, Any]:
    """Return an entry's row under a new id of its own."""
    return {
        "id": f"le_{uuid4().hex}",
        "charge_id": charge.id,
        "kind": entry.kind,
        "refund": entry.refund,
        "tenant": charge.tenant,
        "customer": charge.intent.customer,
        "amount_minor": entry.amount_minor,
        "currency": charge.intent.currency,
        "booked_at": now,
    }


def as_charge(row: RowMapping) -> Charge:
    status, body = row["reply_status"], row["reply_body"]
    return Charge(
        id=row["id"],
        tenant=row["tenant"],
        intent=Intent(row["order"], row["amount_minor"], row["currency"], row["customer"]),
        fingerprint=row["fingerprint"],
        upstream_key=row["upstream_key"],
        lease_token=row["lease_token"],
        status=row["status"],
        provider_charge=row["provider_charge"],
        failure=row["failure"],
        reply=None if body is None else Reply(status, body),
    )
