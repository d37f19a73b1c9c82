"""Events: to see them, to deliver them again, and to tell of some that are not true."""

from typing import TYPE_CHECKING

from simulator.control.asks import Asked, Told, Trouble
from simulator.core.charges import Charge
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.guises import in_status

if TYPE_CHECKING:
    from simulator.control.bodies import DuplicateBody, ForgeBody
    from simulator.server import Simulator


async def events(simulator: "Simulator", _: Asked) -> Told:
    """Show every event, oldest first."""
    provider = simulator.provider
    return Told(
        {
            "events": [
                {
                    "id": event.id,
                    "type": event.type,
                    "charge": event.charge_id,
                    "account": event.account,
                    "order": event.order,
                    "created_s": event.created_s,
                    "repeats": event.repeats,
                    "delivered": provider.deliveries.delivered(event.id),
                }
                for event in provider.events.values()
            ]
        }
    )


async def resend(simulator: "Simulator", asked: Asked) -> Told:
    """Deliver an event once more, under its old id."""
    [event] = asked.names
    try:
        deliveries = simulator.resend(event)
    except KeyError:
        raise _no_such(event) from None
    return Told({"event": event, "deliveries": deliveries}, 202)


async def duplicate(simulator: "Simulator", asked: Asked) -> Told:
    """Deliver an event several times more, one by one or at once, as itself or anew."""
    [event] = asked.names
    body: DuplicateBody = asked.body
    try:
        deliveries = simulator.duplicate(
            event,
            copies=body.copies,
            concurrent=body.mode == "concurrent",
            new_id=body.new_id,
        )
    except KeyError:
        raise _no_such(event) from None
    return Told({"event": event, "deliveries": deliveries}, 202)


async def forge(simulator: "Simulator", asked: Asked) -> Told:
    """Tell an account's endpoints of an event that is not true, once."""
    body: ForgeBody = asked.body
    provider = simulator.provider
    made_up = Charge(
        body.charge,
        body.account,
        body.amount_minor,
        body.currency,
        body.reference,
        body.customer,
    )
    charge = in_status(provider.charges.get(body.charge, made_up), body.status)
    event_id = body.event or f"evt_forged_{len(provider.deliveries.by_id) + 1}"
    event = Event(event_id, body.type, charge, None, simulator.clock.now(), None)
    age_s = 3_600.0 if body.signature == "old" else 0.0
    attempts = simulator.forge(event, Tamper(body.signature, age_s=age_s))
    return Told({"event": event_id, "attempts": attempts}, 202)


def _no_such(event: str) -> Trouble:
    return Trouble(404, "No such event", f"There is no event {event!r}.")
