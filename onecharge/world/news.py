"""News that somebody makes up: a step of a scenario, told to the service as a stranger would."""

from typing import TYPE_CHECKING, Final

from onecharge.press import Order
from onecharge.steps import Forge
from simulator.core.charges import Charge, Status
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.guises import in_status

if TYPE_CHECKING:
    from onecharge.world.world import World

_LONG_AGO_S: Final = 3_600.0


def forge(world: "World", order: Order, step: Forge) -> bool:
    """Tell an untrue story of an order; False when nobody listens.

    It is of the order's latest charge, or of one that never was if the order has none.
    """
    simulator = world.simulator
    provider = simulator.provider
    charges = [each for each in provider.charges.values() if each.reference == order.reference]
    account = charges[-1].account if charges else world.service_file.provider.key
    shown = (
        charges[-1]
        if charges
        else Charge(
            f"ch_forged_{order.serial}",
            account,
            order.amount_minor,
            order.currency,
            order.reference,
            order.customer,
        )
    )
    charge = in_status(shown, Status(step.status))
    age_s = _LONG_AGO_S if step.signature == "old" else 0.0
    told = []
    for type_ in provider.dialect.told_as(step.type) * step.copies:
        event_id = f"evt_forged_{len(provider.deliveries.by_id) + 1}"
        event = Event(event_id, type_, charge, None, simulator.clock.now(), None)
        told += simulator.forge(event, Tamper(step.signature, age_s=age_s))
    return bool(told)
