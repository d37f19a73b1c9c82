"""The news comes more than once."""

from dataclasses import dataclass
from typing import Literal

from simulator.core.deliveries import Delivery
from simulator.core.faults import Copies, Fault


@dataclass(frozen=True, slots=True)
class Redeliver(Fault):
    """The same event is delivered several times, one after the other or all at once."""

    copies: int = 2
    mode: Literal["sequential", "concurrent"] = "sequential"

    def on_delivery(self, delivery: Delivery) -> Copies | None:
        if delivery.attempts > 0:  # copies and retries are not multiplied again
            return None
        return Copies(self.copies, concurrent=self.mode == "concurrent")
