"""An event is marked as known before it has its effect; if that fails, its copy is ignored.

The guard was that id and effect are one transaction. Without it the first delivery is answered
with an error and the second with 200, and nothing is booked. Modelled on report C01 (dj-stripe
#832): the row came first, the handler failed, the retry found the row.
"""

from typing import Any

from reference_impl.event import Event
from reference_impl.mutants._stores import WaitsForTheAnswer
from reference_impl.store import TooEarlyError

VIOLATES = "one_effect_per_event"
CLASS = "K27"
REPORT = "C01"
SHOWN_BY = "killed_after_acknowledging"


class Mutant(WaitsForTheAnswer):
    async def first_seen(self, connection: Any, event: Event, now: Any) -> bool:
        async with self.transaction() as before:
            return await super().first_seen(before, event, now)

    async def apply_event(self, connection: Any, event: Event, now: Any) -> None:
        if await self.in_flight_still(event):
            raise TooEarlyError
        await super().apply_event(connection, event, now)
