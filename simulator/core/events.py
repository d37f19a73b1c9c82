"""Facts at the provider. An event has one id for ever; what repeats is its delivery.

Rule 1: an event is born in the block that commits its effect, never before, never later.
Rule 2: it carries the charge as it was at that moment; a frozen charge makes that free.
"""

from typing import TYPE_CHECKING

from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.charges import Charge, Refund
    from simulator.core.desk_results import Newsworthy
    from simulator.core.rules import Armed


@value(frozen=True, slots=True)
class Event:
    """Something that became true of a charge, or of another thing that a desk keeps.

    ``created_s`` is virtual time; ``cause`` is the index of its ``event.created`` record.
    ``fact`` is its neutral name where ``type`` is the dialect's own: rules know it by both.
    ``call`` and ``key`` are those of the request that brought it about, if one did.
    ``repeats`` is the id of the event that this one was made of by a fault. ``faults`` are
    those which the call that caused it asked for.
    """

    id: str
    type: str
    charge: "Charge | None"
    refund: "Refund | None"
    created_s: float
    cause: int | None
    faults: "tuple[Armed, ...]" = ()
    thing: "Newsworthy | None" = None
    fact: str = ""
    call: str | None = None
    key: str | None = None
    repeats: str | None = None

    @property
    def about(self) -> "Charge | Newsworthy":
        """What it is about."""
        about = self.thing or self.charge
        assert about is not None
        return about

    @property
    def neutral_name(self) -> str:
        """What it tells of, in the words that are the same in every dialect."""
        return self.fact or self.type

    @property
    def charge_id(self) -> str | None:
        return self.charge.id if self.charge else None

    @property
    def account(self) -> str:
        return self.about.account

    @property
    def order(self) -> str | None:
        return self.about.reference

    def __repr__(self) -> str:
        return f"<Event {self.id} {self.type} {self.about.id}>"
