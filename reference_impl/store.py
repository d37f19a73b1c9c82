"""The store: the transactions around an event, on top of those around a key.

Rule 1: an event's id and its effect are one transaction, so neither is ever there alone.
Rule 2: an event is known by its id, its effect by the charge and the step it took: an alias, or
        the same fact under a new id, finds its effect booked.
"""

import logging
from datetime import datetime
from enum import Enum

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from reference_impl.claims import Claims
from reference_impl.decisions import Entry
from reference_impl.event import Event
from reference_impl.operation import CHARGES, Intent, Operation
from reference_impl.outcomes import ProviderCharge, ProviderRefund
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.rows import as_operation, reserved_row
from reference_impl.schema import operations
from reference_impl.statements import A_CHARGE, OPEN, TAKE_IN

log = logging.getLogger(__name__)


class TakenIn(Enum):
    """What became of an event. All but ``TOO_EARLY`` are durable and to be acknowledged."""

    APPLIED = "applied"
    DUPLICATE = "duplicate"
    TOO_EARLY = "too early"


class Store(Claims):
    """The operations, events and ledger of this service in one PostgreSQL database."""

    async def take_in(self, event: Event, now: datetime) -> TakenIn:
        """Record the event's id and its effect together."""
        try:
            async with self.transaction() as connection:
                if not await self.first_seen(connection, event, now):
                    return TakenIn.DUPLICATE
                await self.apply_event(connection, event, now)
        except TooEarlyError:
            return TakenIn.TOO_EARLY
        return TakenIn.APPLIED

    async def take_in_invoice(
        self, event: Event, new: Reservation, lease: Lease
    ) -> Owned | TakenIn:
        """Record the event's id together with the reservation of the charge that it asks for."""
        async with self.transaction() as connection:
            if not await self.first_seen(connection, event, lease.now):
                return TakenIn.DUPLICATE
            return await self.claim_invoice(connection, new, lease) or TakenIn.DUPLICATE

    async def first_seen(self, connection: AsyncConnection, event: Event, now: datetime) -> bool:
        """Insert the event's id; a copy that arrives meanwhile waits here for our commit."""
        row = {"id": event.id, "type": event.type, "provider_charge": event.provider_charge}
        inserted = await connection.execute(TAKE_IN, row | {"taken_in_at": now})
        return inserted.first() is not None

    async def claim_invoice(
        self, connection: AsyncConnection, new: Reservation, lease: Lease
    ) -> Owned | None:
        """Reserve the charge of an invoice, unless the same invoice came as another event."""
        assert isinstance(new.asked, Intent), "an invoice asks for a charge"
        # The event's id and the invoice's are both unique; whichever is taken, it is a copy.
        rows = await connection.execute(
            insert(operations)
            .values(reserved_row(new, new.asked, lease))
            .on_conflict_do_nothing()
            .returning(operations)
        )
        inserted = rows.mappings().one_or_none()
        return None if inserted is None else Owned(as_operation(inserted))

    async def apply_event(self, connection: AsyncConnection, event: Event, now: datetime) -> None:
        """Store and book what an event says. Run twice, the second time changes nothing."""
        if event.charge is None:
            if event.refund is not None:
                await self.apply_refund(connection, event.refund, event.id, now)
            return
        charge = await self.named_by(connection, event.charge)
        if charge is None:
            if event.moved_money:
                await self.expect(connection, event.charge)
            return
        decision = self.decide(charge, event.outcome(charge))
        await self.apply(connection, charge, decision, now, event.id)
        if event.refund is not None and decision.entry is not None:
            refund = Entry("refund", event.refund.amount_minor, event.refund.id)
            await self.book(connection, charge, refund, now, event.id)

    async def apply_refund(
        self, connection: AsyncConnection, refund: ProviderRefund, event_id: str, now: datetime
    ) -> None:
        """Book a refund that is told of without its charge."""
        charge = await self.locked(
            connection, A_CHARGE, operations.c.provider_charge == refund.charge
        )
        if charge is not None:
            entry = Entry("refund", refund.amount_minor, refund.id)
            await self.book(connection, charge, entry, now, event_id)
            return
        # It may be of a charge that we don't know to be made yet; else it is not of ours.
        waiting = await connection.execute(select(operations.c.id).where(A_CHARGE, OPEN).limit(1))
        if waiting.first() is not None:
            raise TooEarlyError
        log.error("a refund of a charge that is not ours", extra={"refund": refund.id})

    async def expect(self, connection: AsyncConnection, seen: ProviderCharge) -> None:
        """Ask for a redelivery, unless whatever it could belong to has ended otherwise."""
        if seen.reference is None:  # ours say which order they pay for
            log.error("a real charge that is not ours", extra={"provider_charge": seen.id})
            return
        statuses = await connection.execute(
            select(operations.c.status).where(A_CHARGE, operations.c.order == seen.reference)
        )
        known = statuses.scalars().all()
        if not known or "in_flight" in known:
            raise TooEarlyError  # rolls the event's id back
        log.error("a real charge nobody asked for", extra={"provider_charge": seen.id})

    async def named_by(self, connection: AsyncConnection, seen: ProviderCharge) -> Operation | None:
        """Find and lock the charge that the provider's charge belongs to."""
        ours = seen.metadata.get("charge_id")
        if ours is not None:
            charge = await self.locked_by_id(connection, ours)
            return charge if charge is not None and charge.kind in CHARGES else None
        known = await self.locked(connection, A_CHARGE, operations.c.provider_charge == seen.id)
        if known is not None:
            return known
        return await self.locked(
            connection,
            A_CHARGE,
            operations.c.order == seen.reference,
            operations.c.amount_minor == seen.amount_minor,
            operations.c.currency == seen.currency,
            operations.c.provider_charge.is_(None),
        )


class TooEarlyError(Exception):
    """Money moved for a charge that is not there yet."""
