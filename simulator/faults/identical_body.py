"""Two events look alike."""

from dataclasses import dataclass

from simulator.core.deliveries import Delivery
from simulator.core.faults import Emit, Fault, Guise


@dataclass(frozen=True, slots=True)
class IdenticalBody(Fault):
    """A second event follows that differs in nothing but its id.

    Where the id stands in a header the bodies are the same byte for byte.
    """

    def on_delivery(self, delivery: Delivery) -> Emit | None:
        return Emit((Guise(),), "after") if delivery.untouched else None
