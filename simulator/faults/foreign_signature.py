"""The news is signed for somebody else."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class ForeignSignature(Fault):
    """The first attempts of a delivery are signed with the secret of another account's endpoint.

    If there is no other endpoint, it is one that nobody has.
    """

    attempts: Annotated[int, Between(1, 100)] = 1

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        return Tamper("foreign") if delivery.attempts < self.attempts else None
