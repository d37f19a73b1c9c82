"""An event of a charge that is not done yet is acknowledged and dropped.

The guard was that an event has its effect whenever it comes, or is refused until it can. Modelled
on report C09 (statamic-cargo #190): the webhook found no order and answered 200, for good.
"""

from typing import Any

from reference_impl.event import Event
from reference_impl.mutants._stores import WaitsForTheAnswer

VIOLATES = "one_effect_per_event"
CLASS = "K29"
REPORT = "C09"
SHOWN_BY = "event_before_reply"


class Mutant(WaitsForTheAnswer):
    async def apply_event(self, connection: Any, event: Event, now: Any) -> None:
        if not await self.in_flight_still(event):
            await super().apply_event(connection, event, now)
