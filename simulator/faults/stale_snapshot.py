"""The news shows what was before it."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.deliveries import Delivery
from simulator.core.faults import Fault, Guise, Tamper


@dataclass(frozen=True, slots=True)
class StaleSnapshot(Fault):
    """An event shows its charge as it was before the change that the event tells of.

    Unfair: a provider's events show at least what they tell of. That an event is overtaken by a
    later change is no fault, and happens by itself when it is delayed.
    """

    fair: ClassVar[bool] = False

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        if delivery.event.charge is None:  # it tells of no change of a charge
            return None
        return Tamper(guise=Guise(stale=True))
