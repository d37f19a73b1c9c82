"""The news is too much."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Guise, Tamper


@dataclass(frozen=True, slots=True)
class OversizedEvent(Fault):
    """The first attempts of a delivery have an enormous body, in the charge's metadata.

    It is signed and true, and later attempts are of the usual size.
    """

    attempts: Annotated[int, Between(1, 100)] = 1
    padding_bytes: Annotated[int, Between(1, 67_108_864)] = 2_097_152

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        if delivery.attempts >= self.attempts:
            return None
        return Tamper(guise=Guise(padding_bytes=self.padding_bytes))
