"""The news never comes."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.deliveries import Delivery
from simulator.core.faults import Fault, Withhold


@dataclass(frozen=True, slots=True)
class DropDelivery(Fault):
    """The event is never delivered, although the provider promises at least once."""

    fair: ClassVar[bool] = False

    def on_delivery(self, delivery: Delivery) -> Withhold:
        return Withhold()
