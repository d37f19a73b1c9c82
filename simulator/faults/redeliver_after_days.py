"""Old news."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Copies, Fault


@dataclass(frozen=True, slots=True)
class RedeliverAfterDays(Fault):
    """An acknowledged event is delivered once more, days of virtual time later."""

    days: Annotated[int, Between(1, 90)] = 3

    def on_delivery(self, delivery: Delivery) -> Copies | None:
        return Copies(2, gap_s=self.days * 86_400.0) if delivery.untouched else None
