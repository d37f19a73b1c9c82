"""Before the good news, bad news."""

from dataclasses import dataclass
from typing import ClassVar, Final

from simulator.core.charges import Status
from simulator.core.deliveries import Delivery
from simulator.core.faults import Emit, Fault, Guise

GOOD_NEWS: Final = frozenset({"charge.captured", "charge.authorised"})


@dataclass(frozen=True, slots=True)
class SuccessAfterFailure(Fault):
    """An event says that a charge was declined, and only then another that it succeeded.

    Unfair: whoever is told first that no money moved may believe it.
    """

    fair: ClassVar[bool] = False

    type: str = "charge.declined"

    def on_delivery(self, delivery: Delivery) -> Emit | None:
        if not delivery.untouched or delivery.event.neutral_name not in GOOD_NEWS:
            return None
        return Emit((Guise(type=self.type, status=Status.DECLINED),), "before")
