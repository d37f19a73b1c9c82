"""The store: every transaction of this service is one method here.

Rule 1: no method calls anything but the database, so no transaction spans a network call.
Rule 2: constraints decide races (``schema.py``); ``ON CONFLICT`` only asks them how it went.
Rule 3: whoever works on a charge holds a lease and its token. A dead owner's lease runs out
        and the next one counts the token up; a late writer with an old token changes nothing.
Rule 4: locks are taken in one order: event, then charge, then ledger.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from enum import Enum

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import URL, RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from reference_impl.charge import Charge
from reference_impl.decisions import Decision, Entry, decide
from reference_impl.event import Event
from reference_impl.outcomes import Outcome, ProviderCharge
from reference_impl.reservation import (
    InFlight,
    Lease,
    Mismatch,
    Owned,
    Reservation,
    Reserved,
    Settled,
)
from reference_impl.rows import as_charge, ledger_row, reserved_row
from reference_impl.schema import charges, events, ledger, metadata

log = logging.getLogger(__name__)

SCHEMA_LOCK = 7_302_218_841
"""Two processes that start at once create the tables one after the other."""


class TakenIn(Enum):
    """What became of an event. All but ``TOO_EARLY`` are durable and to be acknowledged."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    TOO_EARLY = "too early"


class Store:
    """The charges, events and ledger of this service in one PostgreSQL database."""

    def __init__(self, url: URL) -> None:
        self.engine: AsyncEngine = create_async_engine(url, pool_size=10, max_overflow=20)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Begin, and commit unless an exception passes."""
        async with self.engine.begin() as connection:
            yield connection

    async def create_tables(self) -> None:
        async with self.transaction() as connection:
            await connection.execute(select(func.pg_advisory_xact_lock(SCHEMA_LOCK)))
            await connection.run_sync(metadata.create_all)

    # --- charging ---------------------------------------------------------------------------

    async def reserve(self, new: Reservation, lease: Lease) -> Reserved:
        """Claim the key, or say who has it. After ``Owned``, the row outlives any crash."""
        async with self.transaction() as connection:
            claimed = await self.claim(connection, new, lease)
            if claimed is not None:
                return Owned(claimed)
            row = await self.claimed_before(connection, new)
            charge = as_charge(row)
            if charge.fingerprint != new.intent.fingerprint():
                return Mismatch()
            if charge.status != "in_flight":
                return Settled(charge)
            if row["lease_until"] > lease.now:
                return InFlight()
            return Owned(await self.take_over(connection, charge, lease))

    async def claim(
        self, connection: AsyncConnection, new: Reservation, lease: Lease
    ) -> Charge | None:
        """Insert the charge unless its key is taken: the database decides between two of us."""
        row = await connection.execute(
            insert(charges)
            .values(reserved_row(new, lease))
            .on_conflict_do_nothing(constraint="one_charge_per_key")
            .returning(charges)
        )
        inserted = row.mappings().one_or_none()
        return None if inserted is None else as_charge(inserted)

    async def claimed_before(self, connection: AsyncConnection, new: Reservation) -> RowMapping:
        """Read and lock the row that has the key."""
        rows = await connection.execute(
            select(charges)
            .where(charges.c.tenant == new.tenant, charges.c.key == new.key)
            .order_by(charges.c.created_at)
            .with_for_update()
        )
        row = rows.mappings().first()
        assert row is not None, "a key that is taken has a row; rows are never deleted"
        return row

    async def take_over(self, connection: AsyncConnection, charge: Charge, lease: Lease) -> Charge:
        """Become the owner of a charge whose lease is free."""
        rows = await connection.execute(
            update(charges)
            .where(charges.c.id == charge.id)
            .values(lease_until=lease.until, lease_token=charges.c.lease_token + 1)
            .returning(charges)
        )
        return as_charge(rows.mappings().one())

    async def overdue(self, lease: Lease, limit: int) -> list[Charge]:
        """Take over charges whose owner is dead or gave up; other processes skip what we hold."""
        free = (
            select(charges.c.id)
            .where(charges.c.status == "in_flight", charges.c.lease_until <= lease.now)
            .order_by(charges.c.lease_until)
            .limit(limit)
            .with_for_update(skip_locked=True)
            .cte("free")  # evaluated once, whatever the planner thinks
        )
        async with self.transaction() as connection:
            rows = await connection.execute(
                update(charges)
                .where(charges.c.id.in_(select(free.c.id)))
                .values(lease_until=lease.until, lease_token=charges.c.lease_token + 1)
                .returning(charges)
            )
            return [as_charge(row) for row in rows.mappings()]

    async def record(self, owned: Charge, outcome: Outcome, now: datetime) -> Charge:
        """Store what the owner learnt and book it, together; return the charge as it now stands.

        An outcome that is still unknown frees the lease, so that the next one may try.
        """
        async with self.transaction() as connection:
            charge = await self._locked(connection, charges.c.id == owned.id)
            assert charge is not None, "a reserved charge is never deleted"
            if charge.lease_token != owned.lease_token:
                log.warning("late owner", extra={"charge": charge.id})
                return charge
            decision = decide(charge, outcome)
            await self.apply(connection, charge, decision, now)
            if charge.status == "in_flight" and decision.settled is None:
                await connection.execute(
                    update(charges).where(charges.c.id == charge.id).values(lease_until=now)
                )
            return decision.settled or charge

    # --- events -----------------------------------------------------------------------------

    async def take_in(self, event: Event, now: datetime) -> TakenIn:
        """Record the event's id and its effect together, so that neither is there alone."""
        try:
            async with self.transaction() as connection:
                if not await self.first_seen(connection, event, now):
                    return TakenIn.DUPLICATE
                await self._apply_event(connection, event, now)
        except _TooEarlyError:
            return TakenIn.TOO_EARLY
        return TakenIn.APPLIED

    async def first_seen(self, connection: AsyncConnection, event: Event, now: datetime) -> bool:
        """Insert the event's id; a copy that arrives meanwhile waits here for our commit."""
        inserted = await connection.execute(
            insert(events)
            .values(
                id=event.id, type=event.type, provider_charge=event.provider_charge, taken_in_at=now
            )
            .on_conflict_do_nothing(index_elements=[events.c.id])
            .returning(events.c.id)
        )
        return inserted.first() is not None

    async def _apply_event(self, connection: AsyncConnection, event: Event, now: datetime) -> None:
        if event.charge is None:
            return
        charge = await self.named_by(connection, event.charge)
        if charge is None:
            if event.moved_money:
                await self._expect(connection, event.charge)
            return
        decision = decide(charge, event.outcome(charge))
        await self.apply(connection, charge, decision, now)
        if event.refund is not None and decision.entry is not None:
            refund = Entry("refund", event.refund.amount_minor, event.refund.id)
            await self.book(connection, charge, refund, now)

    async def _expect(self, connection: AsyncConnection, seen: ProviderCharge) -> None:
        """Ask for a redelivery, unless whatever it could belong to has ended otherwise."""
        statuses = await connection.execute(
            select(charges.c.status).where(charges.c.order == seen.reference)
        )
        known = statuses.scalars().all()
        if not known or "in_flight" in known:
            raise _TooEarlyError  # rolls the event's id back
        log.error("a real charge nobody asked for", extra={"provider_charge": seen.id})

    # --- what both paths do -----------------------------------------------------------------

    async def apply(
        self, connection: AsyncConnection, charge: Charge, decision: Decision, now: datetime
    ) -> None:
        """Store and book a decision about a charge that this transaction has locked."""
        if decision.alarm is not None:
            log.error(decision.alarm, extra={"charge": charge.id})
        if decision.settled is not None:
            await self.settle(connection, decision.settled, now)
        if decision.entry is not None:
            await self.book(connection, charge, decision.entry, now)

    async def settle(self, connection: AsyncConnection, ended: Charge, now: datetime) -> None:
        """Store how a charge ended, and the answer it gives from now on."""
        assert ended.reply is not None, "a settled charge has its answer"
        await connection.execute(
            update(charges)
            .where(charges.c.id == ended.id)
            .values(
                status=ended.status,
                provider_charge=ended.provider_charge,
                failure=ended.failure,
                reply_status=ended.reply.status,
                reply_body=ended.reply.body,
                settled_at=now,
            )
        )

    async def book(
        self, connection: AsyncConnection, charge: Charge, entry: Entry, now: datetime
    ) -> None:
        """Book an effect unless it is booked: the response, the events and the reconciler meet."""
        await connection.execute(
            insert(ledger)
            .values(ledger_row(charge, entry, now))
            .on_conflict_do_nothing(constraint="one_entry_per_effect")
        )

    # --- reading ----------------------------------------------------------------------------

    async def charge(self, tenant: str, charge_id: str) -> Charge | None:
        found = await self._read(charges.c.tenant == tenant, charges.c.id == charge_id)
        return found[0] if found else None

    async def charges_for(self, tenant: str, order: str) -> list[Charge]:
        """Return the charges for an order, the latest first."""
        return await self._read(charges.c.tenant == tenant, charges.c.order == order)

    async def entries(self, tenant: str, customer: str) -> Sequence[RowMapping]:
        async with self.transaction() as connection:
            rows = await connection.execute(
                select(ledger, charges.c.order, charges.c.provider_charge)
                .join(charges)
                .where(ledger.c.tenant == tenant, ledger.c.customer == customer)
                .order_by(ledger.c.booked_at, ledger.c.id)
            )
            return rows.mappings().all()

    async def ping(self) -> None:
        """Raise unless the database answers."""
        async with self.engine.connect() as connection:
            await connection.execute(text("select 1"))

    async def close(self) -> None:
        await self.engine.dispose()

    async def _read(self, *where: ColumnElement[bool]) -> list[Charge]:
        async with self.transaction() as connection:
            rows = await connection.execute(
                select(charges).where(*where).order_by(charges.c.created_at.desc(), charges.c.id)
            )
            return [as_charge(row) for row in rows.mappings()]

    async def _locked(
        self, connection: AsyncConnection, *where: ColumnElement[bool]
    ) -> Charge | None:
        rows = await connection.execute(select(charges).where(*where).with_for_update().limit(2))
        found = rows.mappings().all()
        # Two candidates are as good as none: an effect is never given to a guess.
        return as_charge(found[0]) if len(found) == 1 else None

    async def named_by(self, connection: AsyncConnection, seen: ProviderCharge) -> Charge | None:
        ours = seen.metadata.get("charge_id")
        if ours is not None:
            return await self._locked(connection, charges.c.id == ours)
        known = await self._locked(connection, charges.c.provider_charge == seen.id)
        if known is not None:
            return known
        return await self._locked(
            connection,
            charges.c.order == seen.reference,
            charges.c.amount_minor == seen.amount_minor,
            charges.c.currency == seen.currency,
            charges.c.provider_charge.is_(None),
        )


class _TooEarlyError(Exception):
    """Money moved for a charge that is not there yet."""
