"""Before the good news, bad news."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.charges import Status
from simulator.core.deliveries import Delivery
from simulator.core.faults import Emit, Fault, Guise

PAID = frozenset({Status.CAPTURED, Status.AUTHORISED})


@dataclass(frozen=True, slots=True)
class SuccessAfterFailure(Fault):
    """An event says that a charge was declined, and only then another that it succeeded.

    Unfair: whoever is told first that no money moved may believe it.
    """

    fair: ClassVar[bool] = False

    type: str = "charge.declined"

    def on_delivery(self, delivery: Delivery) -> Emit | None:
        charge = delivery.event.charge
        if not delivery.untouched or charge is None or charge.status not in PAID:
            return None
        return Emit((Guise(type=self.type, status=Status.DECLINED),), "before")
