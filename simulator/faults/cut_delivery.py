"""The news breaks off."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class CutDelivery(Fault):
    """The first attempts of a delivery break off in the middle of the request's body."""

    attempts: Annotated[int, Between(1, 100)] = 1

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        return Tamper(cut=True) if delivery.attempts < self.attempts else None
