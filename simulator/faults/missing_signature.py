"""The news is not signed."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class MissingSignature(Fault):
    """The first attempts of a delivery carry no signature at all."""

    attempts: Annotated[int, Between(1, 100)] = 1

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        return Tamper("missing") if delivery.attempts < self.attempts else None
