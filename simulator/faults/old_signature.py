"""The news was signed long ago."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class OldSignature(Fault):
    """The first attempts of a delivery carry a good signature of an instant long ago."""

    attempts: Annotated[int, Between(1, 100)] = 1
    age_s: Annotated[int, Between(1, 31_536_000)] = 3_600

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        if delivery.attempts >= self.attempts:
            return None
        return Tamper("old", age_s=self.age_s)
