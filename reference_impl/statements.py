"""The statements of every charge, built once: to build one costs about as much as to send it.

Rule 1: what is different each time is a parameter; a row is given to an insert as it is executed.
Rule 2: a conflict that is expected is named. Any other is a mistake of ours, and raises.
"""

from typing import Final

from sqlalchemy import and_, bindparam, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from reference_impl.schema import events, ledger, operations

A_CHARGE: Final = operations.c.charge_id.is_(None)
OPEN: Final = operations.c.status == "in_flight"

CLAIM: Final = (
    insert(operations)
    .on_conflict_do_nothing(constraint="one_operation_per_key")
    .returning(operations)
)
LOCK: Final = select(operations).where(operations.c.id == bindparam("its_id")).with_for_update()
SETTLE: Final = update(operations).where(operations.c.id == bindparam("its_id"))
BOOK: Final = insert(ledger).on_conflict_do_nothing(constraint="one_entry_per_effect")
TAKE_IN: Final = (
    insert(events).on_conflict_do_nothing(constraint="events_pkey").returning(events.c.id)
)

# What is read: each is one statement, so what it returns was true at one moment.

CHARGE: Final = select(operations).where(
    A_CHARGE, operations.c.tenant == bindparam("tenant"), operations.c.id == bindparam("its_id")
)

_GIVEN_BACK: Final = (
    select(func.coalesce(func.sum(ledger.c.amount_minor), 0))
    .where(ledger.c.charge_id == operations.c.id, ledger.c.kind == "refund")
    .scalar_subquery()
    .label("given_back_minor")
)
CHARGES_FOR_ORDER: Final = (
    select(operations, _GIVEN_BACK)
    .where(
        A_CHARGE, operations.c.tenant == bindparam("tenant"), operations.c.order == bindparam("its")
    )
    .order_by(operations.c.created_at.desc(), operations.c.id)
)

_CREDITED: Final = and_(ledger.c.credit == bindparam("account"), ledger.c.kind == "charge")
_DEBITED: Final = and_(ledger.c.debit == bindparam("account"), ledger.c.kind == "refund")
ENTRIES: Final = (
    select(ledger, operations.c.order, operations.c.provider_charge)
    .join(operations)
    .where(ledger.c.tenant == bindparam("tenant"), or_(_CREDITED, _DEBITED))
    .order_by(ledger.c.booked_at, ledger.c.id)
)
OLDEST_UNKNOWN: Final = select(func.min(operations.c.created_at).label("since")).where(
    OPEN, operations.c.asked > 0
)
PING: Final = select(1)
