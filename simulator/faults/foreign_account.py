"""Two events have one id."""

from dataclasses import dataclass
from typing import ClassVar, Literal, assert_never

from simulator.core.deliveries import Delivery
from simulator.core.faults import Fault, Guise, Tamper


@dataclass(frozen=True, slots=True)
class ForeignAccount(Fault):
    """An event is told under an id that another account's event has had already.

    It strikes only where there is such an event. A service that has one account at the provider
    meets the same by ``whose = "order"``: the id is that of an event of another order. Unfair:
    the generic webhook does not say whose it is, so that an endpoint of several accounts has
    nothing but the id to go by.
    """

    fair: ClassVar[bool] = False
    strikes_all: ClassVar[bool] = True

    whose: Literal["account", "order"] = "account"

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        match self.whose:
            case "account":
                taken = delivery.foreign_id
            case "order":
                taken = delivery.other_id
            case _:
                assert_never(self.whose)
        return None if taken is None else Tamper(guise=Guise(id=taken))
