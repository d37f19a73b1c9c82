"""Every delivery of an event credits the account.

The guard was the event's id, recorded in the transaction of its effect, and one entry per effect.
Without them a redelivery credits again. Modelled on report C15 (open-saas #688): only the webhook
credits, by ``credits += n``.
"""

from typing import Any

from reference_impl.event import Event
from reference_impl.mutants._stores import CreditsByWebhook

VIOLATES = "one_effect_per_event"
CLASS = "K25"
REPORT = "C15"
SHOWN_BY = "duplicate_events_one_by_one"


class Mutant(CreditsByWebhook):
    async def first_seen(self, connection: Any, event: Event, now: Any) -> bool:
        return True
