"""The news is signed with a secret that is not the endpoint's."""

from dataclasses import dataclass

from simulator.core.deliveries import Delivery
from simulator.core.faults import Fault, Missign


@dataclass(frozen=True, slots=True)
class WrongSignature(Fault):
    """The first attempts of a delivery carry a signature that cannot be verified."""

    attempts: int = 1

    def on_delivery(self, delivery: Delivery) -> Missign | None:
        return Missign() if delivery.attempts < self.attempts else None
