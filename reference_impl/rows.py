"""Rows and values: how one becomes the other, in one place for each table."""

from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from sqlalchemy.engine import RowMapping

from reference_impl.answers import Reply
from reference_impl.decisions import Entry
from reference_impl.operation import Intent, Operation
from reference_impl.reservation import Lease, Reservation

PROVIDER: Final = "provider"
"""The account of money that the provider holds for the merchant."""


def account(customer: str) -> str:
    """Return a customer's account; its name is never that of the provider's."""
    return f"customer:{customer}"


def reserved_row(
    new: Reservation, intent: Intent, lease: Lease, charge: Operation | None = None
) -> dict[str, Any]:
    """Return a new operation's row: in flight, owned by whoever inserts it."""
    row = {
        "id": new.id,
        "kind": new.kind,
        "tenant": new.tenant,
        "key": new.key,
        "fingerprint": new.asked.fingerprint(),
        "order": intent.order,
        "amount_minor": intent.amount_minor,
        "currency": intent.currency,
        "customer": intent.customer,
        "capture": intent.capture,
        "invoice": new.invoice,
        "upstream_key": new.upstream_key,
        "lease_until": lease.until,
        "ask_again_at": lease.now,
        "created_at": lease.now,
    }
    if charge is not None:
        row["charge_id"] = charge.id
        row["provider_charge"] = charge.provider_charge
        row["refunded_before_minor"] = charge.refunded_minor
    return row


def ledger_row(
    charge: Operation, entry: Entry, now: datetime, told_by: str | None
) -> dict[str, Any]:
    """Return an entry's row under a new id of its own."""
    customer = account(charge.intent.customer)
    debit, credit = (PROVIDER, customer) if entry.kind == "charge" else (customer, PROVIDER)
    return {
        "id": f"le_{uuid4().hex}",
        "charge_id": charge.id,
        "kind": entry.kind,
        "refund": entry.refund,
        "told_by": told_by,
        "tenant": charge.tenant,
        "debit": debit,
        "credit": credit,
        "amount_minor": entry.amount_minor,
        "currency": charge.intent.currency,
        "booked_at": now,
    }


def settled_values(ended: Operation, now: datetime) -> dict[str, Any]:
    """Return what changes in a row when its operation has ended."""
    assert ended.reply is not None, "a settled operation has its answer"
    return {
        "status": ended.status,
        "provider_charge": ended.provider_charge,
        "provider_refund": ended.provider_refund,
        "captured_minor": ended.captured_minor,
        "failure": ended.failure,
        "reply_status": ended.reply.status,
        "reply_body": ended.reply.body,
        "settled_at": now,
    }


def as_operation(row: RowMapping) -> Operation:
    status, body = row["reply_status"], row["reply_body"]
    return Operation(
        id=row["id"],
        kind=row["kind"],
        tenant=row["tenant"],
        intent=Intent(
            row["order"], row["amount_minor"], row["currency"], row["customer"], row["capture"]
        ),
        fingerprint=row["fingerprint"],
        upstream_key=row["upstream_key"],
        created_at=row["created_at"],
        lease_token=row["lease_token"],
        status=row["status"],
        charge=row["charge_id"],
        provider_charge=row["provider_charge"],
        provider_refund=row["provider_refund"],
        captured_minor=row["captured_minor"],
        refunded_minor=row["refunded_minor"],
        refunded_before_minor=row["refunded_before_minor"],
        asked=row["asked"],
        failure=row["failure"],
        reply=None if body is None else Reply(status, body),
    )
