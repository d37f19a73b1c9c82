"""Facts at the provider. An event has one id for ever; what repeats is its delivery.

Rule 1: an event is born in the block that commits its effect, never before, never later.
Rule 2: it carries the charge as it was at that moment; a frozen charge makes that free.
"""

from dataclasses import field
from typing import TYPE_CHECKING

from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.charges import Charge, Refund
    from simulator.core.rules import Armed


@value(frozen=True, slots=True)
class Event:
    """Something that became true of a charge.

    ``created_s`` is virtual time; ``cause`` is the index of its ``event.created`` record.
    ``repeats`` is the id of the event that this one was made of by a fault. ``faults`` are
    those which the call that caused it asked for.
    """

    id: str
    type: str
    charge: "Charge"
    refund: "Refund | None"
    created_s: float
    cause: int | None
    repeats: str | None = None
    faults: "tuple[Armed, ...]" = field(default=(), compare=False, repr=False)

    @property
    def account(self) -> str:
        return self.charge.account

    @property
    def order(self) -> str | None:
        return self.charge.reference

    def __repr__(self) -> str:
        return f"<Event {self.id} {self.type} {self.charge.id}>"
