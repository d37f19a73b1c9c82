"""What a lookup shows when it does not tell the truth.

Rule 1: only what is shown is bent; charges, ledger and events stay what they are.
Rule 2: the past of a charge or an intent is what its events carry: each shows it as it was when
        the event was born.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from simulator.core.charges import Charge
from simulator.core.desk_results import (
    Fact,
    IntentCharge,
    Newsworthy,
    Thing,
    ThingShown,
    ThingsListed,
    View,
)
from simulator.core.events import Event
from simulator.core.faults import Misreport
from simulator.core.guises import in_status, thing_in_status
from simulator.core.intents import Intent
from simulator.core.invoices import Invoice
from simulator.core.results import ChargeShown, ChargesListed, Problem, Result

Events = Mapping[str, Event]


def misreported(result: Result, lie: Misreport, events: Events, now: float) -> Result:
    """Return what a lookup says instead of ``result``; anything but a lookup stays as it is."""
    match result:
        case ChargeShown(charge):
            shown = _charge_as_shown(charge, lie, events, now)
            return ChargeShown(shown) if shown else Problem("not_found", f"no charge {charge.id}")
        case ChargesListed(charges):
            seen = (_charge_as_shown(charge, lie, events, now) for charge in charges)
            return ChargesListed(tuple(charge for charge in seen if charge))
        case ThingShown(thing, view, fresh):
            seen_thing = _as_shown(thing, lie, events, now)
            if seen_thing is None:
                return Problem("not_found", f"no such thing: {thing_id(thing)!r}", field="id")
            return ThingShown(seen_thing, _view(view, lie, events, now), fresh)
        case ThingsListed(things=things, view=view):
            seen_things = (_as_shown(thing, lie, events, now) for thing in things)
            there = tuple(thing for thing in seen_things if thing)
            return replace(result, things=there, view=_view(view, lie, events, now))
        case _:
            return result


def thing_id(thing: Thing | Fact) -> str:
    """Return the id of what is shown."""
    return thing.event.id if isinstance(thing, Fact) else thing.id


def _view(view: View, lie: Misreport, events: Events, now: float) -> View:
    """Let what is expanded tell the same lie."""

    def find(id_: str) -> Thing | None:
        thing = view.find(id_)
        seen = None if thing is None else _as_shown(thing, lie, events, now)
        assert not isinstance(seen, Fact)  # no field names an event
        return seen

    return View(find, view.expand, view.public)


def _charge_as_shown(charge: Charge, lie: Misreport, events: Events, now: float) -> Charge | None:
    """Return a charge as the lie has it, or nothing where it did not exist then."""
    seen: Charge | None = charge
    if lie.lag_s > 0:
        then = _until(now - lie.lag_s, events)
        seen = next((e.charge for e in then if e.charge and e.charge.id == charge.id), None)
    return in_status(seen, lie.status) if seen and lie.status else seen


def _as_shown(
    thing: Thing | Fact, lie: Misreport, events: Events, now: float
) -> Thing | Fact | None:
    """Return an intent or a charge as the lie has it; about other things there is none."""
    if not isinstance(thing, Intent | IntentCharge):
        return thing
    seen: Newsworthy | None = thing
    if lie.lag_s > 0:
        then = _until(now - lie.lag_s, events)
        seen = next((e.thing for e in then if e.thing and e.thing.id == thing.id), None)
    shown = thing_in_status(seen, lie.status) if seen and lie.status else seen
    assert not isinstance(shown, Invoice)  # it has the id of an intent or a charge
    return shown


def _until(then_s: float, events: Events) -> Iterable[Event]:
    """Return the events that had been born by then, the latest first."""
    return (event for event in reversed(tuple(events.values())) if event.created_s <= then_s)
