"""An event is known by its type and charge, so every type that tells of a payment credits it.

The guard was one entry per effect, whatever it was told by. Modelled on report C13 (sokosumi #1846,
roomGPT #61): two events of one payment both granted what was bought.
"""

from dataclasses import replace
from typing import Any

from reference_impl.event import Event
from reference_impl.mutants._stores import CreditsByWebhook

VIOLATES = "one_effect_per_event"
CLASS = "K28"
REPORT = "C13"
SHOWN_BY = "events_under_several_names"


class Mutant(CreditsByWebhook):
    async def first_seen(self, connection: Any, event: Event, now: Any) -> bool:
        known_by = f"{event.type} {event.provider_charge}"
        return await super().first_seen(connection, replace(event, id=known_by), now)
