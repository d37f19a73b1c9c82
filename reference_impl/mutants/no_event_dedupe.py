"""Every delivery of an event credits the account.

The guard was the event's id, recorded in the transaction of its effect, and one entry per effect.
Without them a redelivery credits again. A first delivery still finds what the response path has
booked, so only duplicates show it. Modelled on report C15 (open-saas #688): ``credits += n``.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, text

from reference_impl.decisions import Entry
from reference_impl.event import Event
from reference_impl.operation import Operation
from reference_impl.rows import ledger_row
from reference_impl.schema import ledger
from reference_impl.store import Store, TakenIn

VIOLATES = "one_effect_per_event"
CLASS = "K25"
REPORT = "C15"


class Mutant(Store):
    async def migrate(self) -> None:
        await super().migrate()
        async with self.transaction() as connection:
            drop = "alter table ledger drop constraint if exists one_entry_per_effect"
            await connection.execute(text(drop))

    async def take_in(self, event: Event, now: datetime) -> TakenIn:
        taken = await super().take_in(event, now)
        if taken is TakenIn.DUPLICATE and event.charge is not None and event.moved_money:
            async with self.transaction() as connection:
                if charge := await self.named_by(connection, event.charge):
                    again = Entry("charge", event.charge.amount_minor)
                    await connection.execute(insert(ledger).values(ledger_row(charge, again, now)))
        return taken

    async def book(self, connection: Any, charge: Operation, entry: Entry, now: datetime) -> None:
        same = (ledger.c.charge_id == charge.id, ledger.c.kind == entry.kind)
        if (await connection.execute(select(ledger).where(*same))).first() is None:
            await connection.execute(insert(ledger).values(ledger_row(charge, entry, now)))
