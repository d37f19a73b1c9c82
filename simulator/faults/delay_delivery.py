"""The news takes its time."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Postpone


@dataclass(frozen=True, slots=True)
class DelayDelivery(Fault):
    """The first attempt to tell of an event is made some virtual time after it happened."""

    delay_ms: Annotated[int, Between(1, 2_592_000_000)] = 60_000

    def on_delivery(self, delivery: Delivery) -> Postpone | None:
        return Postpone(self.delay_ms / 1000) if delivery.untouched else None
