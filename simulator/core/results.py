"""What an operation comes to, before a dialect puts it into words.

Rule 1: a result says what is the case; statuses, headers and JSON belong to the dialect.
Rule 2: a ``Problem`` is a result as well: one code for each thing that can be wrong.
"""

from typing import TYPE_CHECKING

from simulator.core.charges import Status
from simulator.core.desk_results import DeskResult
from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.charges import Charge, Refund
    from simulator.core.events import Event


@value(frozen=True, slots=True)
class Problem:
    """The operation was refused, or failed.

    ``status`` is set only by a fault or a policy that insists on one; otherwise the dialect
    knows it. ``resource`` is the id of what is in the way, where the answer is to name it;
    ``field`` is the field of the request that is to blame.
    """

    code: str
    detail: str = ""
    status: int | None = None
    retry_after_s: int | None = None
    resource: str | None = None
    field: str | None = None


@value(frozen=True, slots=True)
class ChargeMade:
    """A charge was created: captured, authorised or pending."""

    charge: "Charge"


@value(frozen=True, slots=True)
class ChargeDeclined:
    """The bank said no, to a new charge or to the capture of an old one."""

    charge: "Charge"


@value(frozen=True, slots=True)
class ChargeShown:
    """A charge as it now is: read, captured or cancelled."""

    charge: "Charge"


@value(frozen=True, slots=True)
class ChargesListed:
    charges: "tuple[Charge, ...]"


@value(frozen=True, slots=True)
class RefundMade:
    refund: "Refund"
    charge: "Charge"


@value(frozen=True, slots=True)
class EventShown:
    event: "Event"
    delivered: bool


@value(frozen=True, slots=True)
class EventsListed:
    events: tuple[EventShown, ...]


@value(frozen=True, slots=True)
class EventResent:
    """The event will be delivered once more, under its old id."""

    event: "Event"
    delivered: bool


Result = (
    ChargeMade
    | ChargeDeclined
    | ChargeShown
    | ChargesListed
    | RefundMade
    | EventShown
    | EventsListed
    | EventResent
    | Problem
    | DeskResult
)


def is_pending(result: Result) -> bool:
    """Tell whether a charge was made on which the bank has not decided."""
    return isinstance(result, ChargeMade) and result.charge.status is Status.PENDING
