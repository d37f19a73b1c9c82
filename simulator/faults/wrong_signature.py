"""The news is signed with a secret that is not the endpoint's."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class WrongSignature(Fault):
    """The first attempts of a delivery carry a signature that cannot be verified."""

    attempts: Annotated[int, Between(1, 100)] = 1

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        return Tamper("wrong") if delivery.attempts < self.attempts else None
