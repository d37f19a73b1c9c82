"""Two accounts' events have one id."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.deliveries import Delivery
from simulator.core.faults import Fault, Guise, Tamper


@dataclass(frozen=True, slots=True)
class ForeignAccount(Fault):
    """An event is told under an id that another account's event has had already.

    It strikes only where there is such an event. Unfair: the generic webhook does not say whose
    it is, so that an endpoint of several accounts has nothing but the id to go by.
    """

    fair: ClassVar[bool] = False

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        if delivery.foreign_id is None:
            return None
        return Tamper(guise=Guise(id=delivery.foreign_id))
