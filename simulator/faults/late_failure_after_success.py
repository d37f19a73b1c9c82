"""After the good news, bad news that is no longer true."""

from dataclasses import dataclass
from typing import Final

from simulator.core.charges import Status
from simulator.core.deliveries import Delivery
from simulator.core.faults import Emit, Fault, Guise

GOOD_NEWS: Final = frozenset({"charge.captured", "charge.authorised"})


@dataclass(frozen=True, slots=True)
class LateFailureAfterSuccess(Fault):
    """Once the success of a charge is acknowledged, an event says that it was declined.

    It is the belated news of an attempt that came to nothing before. Fair, because the endpoint
    has been told the truth first and can look it up.
    """

    type: str = "charge.declined"

    def on_delivery(self, delivery: Delivery) -> Emit | None:
        if not delivery.untouched or delivery.event.neutral_name not in GOOD_NEWS:
            return None
        return Emit((Guise(type=self.type, status=Status.DECLINED),), "after")
