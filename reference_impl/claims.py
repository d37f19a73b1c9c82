"""The transactions around one key: it is claimed, owned, and what became of it is recorded.

Rule 1: no method calls anything but the database, so no transaction spans a network call.
Rule 2: constraints decide races (``schema.py``); the code only asks them how it went.
Rule 3: whoever works on an operation holds a lease and its token. A dead owner's lease runs out
        and the next one counts the token up; a late writer with an old token changes nothing.
Rule 4: locks are taken in one order: event, then charge, then its change, then ledger.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from psycopg.errors import IntegrityError as Violation
from sqlalchemy import ColumnElement, and_, column, func, select, update, values
from sqlalchemy.engine import RowMapping
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, Text

from reference_impl.database import Database
from reference_impl.decisions import Decision, Entry, decide, decide_change, refusal
from reference_impl.operation import Change, Intent, Operation
from reference_impl.outcomes import Outcome, Unknown
from reference_impl.reservation import (
    InFlight,
    Lease,
    Mismatch,
    Owned,
    Refused,
    Reservation,
    Reserved,
    Settled,
)
from reference_impl.rows import as_operation, ledger_row, reserved_row, settled_values
from reference_impl.schema import ledger, operations
from reference_impl.statements import A_CHARGE, BOOK, CLAIM, LOCK, OPEN, SETTLE

log = logging.getLogger(__name__)

CONFLICTS: Final = {
    "one_open_change_per_charge": Refused(
        409, "charge_busy", "another capture or refund of this charge is under way", 1
    ),
    "refunds_never_exceed": Refused(422, "exceeds", "more than is left cannot be refunded"),
    "a_positive_amount": Refused(422, "exceeds", "nothing is left to be refunded"),
}
"""What a constraint says to a capture or refund that must not be reserved."""


class Claims(Database):
    """The operations of this service, and the ledger that they are booked in."""

    # --- reserving --------------------------------------------------------------------------

    async def reserve(self, new: Reservation, lease: Lease) -> Reserved:
        """Claim the key, or say who has it. After ``Owned``, the row outlives any crash."""
        assert isinstance(new.asked, Intent), "a change is reserved together with its charge"
        async with self.transaction() as connection:
            claimed = await self.claim(connection, new, reserved_row(new, new.asked, lease), lease)
            known = claimed or await self.claimed_before(connection, new, lease)
            assert known is not None, "a key that is taken has a row; rows are never deleted"
            return known

    async def reserve_change(self, new: Reservation, lease: Lease) -> Reserved | None:
        """Claim the key of a capture or refund; None if there is no such charge."""
        try:
            async with self.transaction() as connection:
                return await self._reserve_change(connection, new, lease)
        except IntegrityError as error:
            refused = CONFLICTS.get(_constraint(error) or "")
            if refused is None:
                raise
            return refused

    async def _reserve_change(
        self, connection: AsyncConnection, new: Reservation, lease: Lease
    ) -> Reserved | None:
        change = new.asked
        assert isinstance(change, Change), "an intent is reserved by itself"
        charge = await self.locked(
            connection,
            and_(A_CHARGE, operations.c.id == change.charge, operations.c.tenant == new.tenant),
        )
        if charge is None:
            return None
        # A key that is known is answered first: the charge has moved on since, by this key.
        if known := await self.claimed_before(connection, new, lease):
            return known
        if refused := refusal(change, charge):
            return refused
        left_minor = charge.intent.amount_minor
        if change.kind == "refund":
            charge = replace(charge, refunded_minor=await self._given_back(connection, charge))
            left_minor = charge.captured_minor - charge.refunded_minor
        amount_minor = left_minor if change.amount_minor is None else change.amount_minor
        if amount_minor > left_minor:
            return CONFLICTS["refunds_never_exceed"]
        if change.kind == "refund":
            await self.earmark(connection, charge.id, amount_minor)
        row = reserved_row(new, _with_amount(charge.intent, amount_minor), lease, charge)
        claimed = await self.claim(connection, new, row, lease)
        return claimed or await self.claimed_before(connection, new, lease)

    async def claim(
        self,
        connection: AsyncConnection,
        new: Reservation,  # noqa: ARG002 - whoever looks before it inserts needs to know
        row: dict[str, object],
        lease: Lease,  # noqa: ARG002
    ) -> Owned | None:
        """Insert the operation unless its key is taken: the database decides between two of us."""
        rows = await connection.execute(CLAIM, row)
        inserted = rows.mappings().one_or_none()
        return None if inserted is None else Owned(as_operation(inserted))

    async def claimed_before(
        self, connection: AsyncConnection, new: Reservation, lease: Lease
    ) -> Reserved | None:
        """Read and lock the row that has the key, and say what that means for who asks."""
        row = await self.holder(connection, new)
        if row is None:
            return None
        operation = as_operation(row)
        if not self.same_intent(operation, new):
            return Mismatch()
        if operation.status != "in_flight":
            return Settled(operation)
        if row["lease_until"] > lease.now:
            return InFlight()
        return Owned(await self.take_over(connection, operation, lease))

    async def holder(self, connection: AsyncConnection, new: Reservation) -> RowMapping | None:
        """Read and lock the row that has the key."""
        rows = await connection.execute(
            select(operations)
            .where(self.has_the_key(new))
            .order_by(operations.c.created_at)
            .with_for_update()
        )
        return rows.mappings().first()

    def has_the_key(self, new: Reservation) -> ColumnElement[bool]:
        """Say how far a key reaches: one tenant's, and one kind of operation."""
        had = operations.c
        return and_(had.tenant == new.tenant, had.kind == new.kind, had.key == new.key)

    def same_intent(self, known: Operation, new: Reservation) -> bool:
        """Say whether the key comes with what it came with before."""
        return known.fingerprint == new.asked.fingerprint()

    # --- owning -----------------------------------------------------------------------------

    async def take_over(
        self, connection: AsyncConnection, operation: Operation, lease: Lease
    ) -> Operation:
        """Become the owner of an operation whose lease is free."""
        rows = await connection.execute(
            update(operations)
            .where(operations.c.id == operation.id)
            .values(lease_until=lease.until, lease_token=operations.c.lease_token + 1)
            .returning(operations)
        )
        return as_operation(rows.mappings().one())

    async def overdue(self, lease: Lease, limit: int) -> list[Operation]:
        """Take over what its owner left or gave up; other processes skip what we hold."""
        free = (
            select(operations.c.id)
            .where(self.due(lease.now))
            .order_by(operations.c.ask_again_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
            .cte("free")  # evaluated once, whatever the planner thinks
        )
        async with self.transaction() as connection:
            rows = await connection.execute(
                update(operations)
                .where(operations.c.id.in_(select(free.c.id)))
                .values(lease_until=lease.until, lease_token=operations.c.lease_token + 1)
                .returning(operations)
            )
            return [as_operation(row) for row in rows.mappings()]

    def due(self, now: datetime) -> ColumnElement[bool]:
        """Say what the reconciler may come back to: what is open, free, and rested enough."""
        had = operations.c
        return and_(OPEN, had.ask_again_at <= now, had.lease_until <= now)

    async def renew(self, held: Mapping[str, int], lease: Lease) -> int:
        """Extend the leases that are still ours, by id and token; return how many were."""
        ours = values(column("id", Text), column("token", BigInteger), name="ours").data(
            list(held.items())
        )
        async with self.transaction() as connection:
            renewed = await connection.execute(
                update(operations)
                .where(
                    OPEN,
                    operations.c.id == ours.c.id,
                    operations.c.lease_token == ours.c.token,
                )
                .values(lease_until=lease.until)
            )
            return renewed.rowcount

    async def record(
        self, owned: Operation, outcome: Outcome, now: datetime, back_off: timedelta
    ) -> Operation:
        """Store what the owner learnt and book it, together; return the operation as it stands.

        An outcome that is still unknown frees the lease, so that the client's retry may try at
        once; the reconciler comes back after ``back_off``.
        """
        async with self.transaction() as connection:
            charge = (
                None if owned.charge is None else await self.locked_by_id(connection, owned.charge)
            )
            operation = await self.locked_by_id(connection, owned.id)
            assert operation is not None, "what was reserved is never deleted"
            if operation.lease_token != owned.lease_token:
                log.warning("late owner", extra={"operation": operation.id})
                return operation
            if isinstance(outcome, Unknown):
                await self.free(connection, operation, now, back_off)
                return operation
            if charge is None:
                decision = self.decide(operation, outcome)
                await self.apply(connection, operation, decision, now)
            else:
                decision = await self._apply_change(connection, operation, charge, outcome, now)
            return decision.settled or operation

    async def _apply_change(
        self,
        connection: AsyncConnection,
        change: Operation,
        charge: Operation,
        outcome: Outcome,
        now: datetime,
    ) -> Decision:
        if change.status != "in_flight":
            return Decision()
        both = decide_change(change, charge, outcome)
        await self.apply(connection, change, both.change, now)
        await self.apply(connection, charge, both.charge, now)
        if both.given_up_minor:
            await self.earmark(connection, charge.id, -both.given_up_minor)
        return both.change

    async def _given_back(self, connection: AsyncConnection, charge: Operation) -> int:
        """Return what went back or is set aside, whether we asked for it or somebody else did."""
        booked = select(func.coalesce(func.sum(ledger.c.amount_minor), 0)).where(
            ledger.c.charge_id == charge.id, ledger.c.kind == "refund"
        )
        booked_minor = int((await connection.execute(booked)).scalar_one())
        return max(charge.refunded_minor, booked_minor)

    async def earmark(self, connection: AsyncConnection, charge_id: str, amount_minor: int) -> None:
        """Set aside what is to go back; the constraint says whether so much is left."""
        await connection.execute(
            update(operations)
            .where(operations.c.id == charge_id)
            .values(refunded_minor=operations.c.refunded_minor + amount_minor)
        )

    async def free(
        self, connection: AsyncConnection, operation: Operation, now: datetime, back_off: timedelta
    ) -> None:
        """Leave an operation whose outcome is unknown to whoever asks next."""
        await connection.execute(
            update(operations)
            .where(operations.c.id == operation.id, OPEN)
            .values(lease_until=now, ask_again_at=now + back_off, asked=operations.c.asked + 1)
        )

    # --- what every path does ---------------------------------------------------------------

    def decide(self, charge: Operation, outcome: Outcome) -> Decision:
        """Say what an outcome changes, whoever learnt of it."""
        return decide(charge, outcome)

    async def apply(
        self,
        connection: AsyncConnection,
        operation: Operation,
        decision: Decision,
        now: datetime,
        told_by: str | None = None,
    ) -> None:
        """Store and book a decision about an operation that this transaction has locked."""
        if decision.alarm is not None:
            log.error(decision.alarm, extra={"operation": operation.id})
        if decision.settled is not None:
            await self.settle(connection, decision.settled, now)
        if decision.entry is not None:
            await self.book(connection, operation, decision.entry, now, told_by)

    async def settle(self, connection: AsyncConnection, ended: Operation, now: datetime) -> None:
        """Store how an operation ended, and the answer it gives from now on."""
        await connection.execute(SETTLE, {"its_id": ended.id, **settled_values(ended, now)})

    async def book(
        self,
        connection: AsyncConnection,
        charge: Operation,
        entry: Entry,
        now: datetime,
        told_by: str | None = None,
    ) -> None:
        """Book an effect unless it is booked: the response, the events and the reconciler meet.

        ``told_by`` is the event that tells of it; none where an answer of the provider's does.
        """
        await connection.execute(BOOK, ledger_row(charge, entry, now, told_by))

    async def locked_by_id(self, connection: AsyncConnection, its_id: str) -> Operation | None:
        row = (await connection.execute(LOCK, {"its_id": its_id})).mappings().one_or_none()
        return None if row is None else as_operation(row)

    async def locked(
        self, connection: AsyncConnection, *where: ColumnElement[bool]
    ) -> Operation | None:
        rows = await connection.execute(select(operations).where(*where).with_for_update().limit(2))
        found = rows.mappings().all()
        # Two candidates are as good as none: an effect is never given to a guess.
        return as_operation(found[0]) if len(found) == 1 else None


def _constraint(error: IntegrityError) -> str | None:
    return error.orig.diag.constraint_name if isinstance(error.orig, Violation) else None


def _with_amount(intent: Intent, amount_minor: int) -> Intent:
    return Intent(intent.order, amount_minor, intent.currency, intent.customer, intent.capture)
