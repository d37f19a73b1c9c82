"""Whether an event is known is asked before the transaction that books it.

The guard was the unique id, inserted in the transaction of the effect. Without it copies that
arrive together all find it unknown. Modelled on report C12 (vm0 #10668): the loser's insert did
nothing, and its credit was committed all the same.
"""

from typing import Any

from sqlalchemy import select

from reference_impl.event import Event
from reference_impl.mutants._stores import CreditsByWebhook
from reference_impl.schema import events

VIOLATES = "one_effect_per_event"
CLASS = "K26"
REPORT = "C12"
SHOWN_BY = "duplicate_events_at_once"


class Mutant(CreditsByWebhook):
    async def first_seen(self, connection: Any, event: Event, now: Any) -> bool:
        known = select(events.c.id).where(events.c.id == event.id)
        is_new = (await connection.execute(known)).first() is None
        await super().first_seen(connection, event, now)
        return is_new
