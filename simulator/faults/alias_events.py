"""Several events tell of one charge."""

from dataclasses import dataclass

from simulator.core.deliveries import Delivery
from simulator.core.faults import Emit, Fault, Guise


@dataclass(frozen=True, slots=True)
class AliasEvents(Fault):
    """One fact is told by several events of different types, all at once.

    ``types`` are those of the further events, separated by spaces.
    """

    types: str = "payment.succeeded invoice.paid"

    def __post_init__(self) -> None:
        if not self.types.split():
            raise ValueError("types must name at least one type of event")

    def on_delivery(self, delivery: Delivery) -> Emit | None:
        if not delivery.untouched:
            return None
        return Emit(tuple(Guise(type=each) for each in self.types.split()))
