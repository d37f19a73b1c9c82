"""The news comes in the wrong order."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Postpone


@dataclass(frozen=True, slots=True)
class ReorderDeliveries(Fault):
    """An event waits until a later one of its order has been acknowledged, or until time is up.

    Of several events every second one waits, so that each pair changes places.
    """

    at_most_ms: Annotated[int, Between(1, 2_592_000_000)] = 60_000

    def on_delivery(self, delivery: Delivery) -> Postpone | None:
        if not delivery.untouched or delivery.overtakes:
            return None
        return Postpone(self.at_most_ms / 1000, until_overtaken=True)
