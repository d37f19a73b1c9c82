"""The news comes more than once."""

from dataclasses import dataclass
from typing import Annotated, Literal

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Copies, Emit, Fault, Guise


@dataclass(frozen=True, slots=True)
class Redeliver(Fault):
    """The same event is delivered several times, one after the other or all at once.

    With ``new_id`` the copies are events of their own that tell of the same fact.
    """

    copies: Annotated[int, Between(1, 1_000)] = 2
    mode: Literal["sequential", "concurrent"] = "sequential"
    new_id: bool = False

    def on_delivery(self, delivery: Delivery) -> Copies | Emit | None:
        if not delivery.untouched:  # copies and retries are not multiplied again
            return None
        concurrent = self.mode == "concurrent"
        if self.new_id:
            more = (Guise(renewed=True),) * (self.copies - 1)
            return Emit(more, "together" if concurrent else "after")
        return Copies(self.copies, concurrent)
