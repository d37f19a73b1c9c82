"""An event that is known is answered with an error, and so it comes again, and again.

The guard was ``ON CONFLICT DO NOTHING`` on the event's id. Modelled on report C24 (universe #4993):
every retry died on the unique constraint.
"""

from typing import Any

from sqlalchemy import insert

from reference_impl.event import Event
from reference_impl.schema import events
from reference_impl.store import Store

VIOLATES = "duplicates_are_acknowledged"
CLASS = "K32"
REPORT = "C24"
SHOWN_BY = "events_are_resent"


class Mutant(Store):
    async def first_seen(self, connection: Any, event: Event, now: Any) -> bool:
        row = {"id": event.id, "type": event.type, "taken_in_at": now}
        await connection.execute(insert(events).values(row))
        return True
