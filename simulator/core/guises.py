"""How a charge, another thing or an event looks when it is not shown as it is.

Rule 1: only what is shown is bent; charges, intents, ledger and events stay what they are.
Rule 2: what a charge and its intent look like in a status is one row of ``INTENT_STATUS``, so both
        tell the same lie.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final, assert_never

from simulator.core.cashier import IN_WORDS
from simulator.core.charges import Charge, Status
from simulator.core.customers import Customer, Method
from simulator.core.desk_results import IntentCharge, IntentRefund, Newsworthy
from simulator.core.events import Event
from simulator.core.faults import Guise
from simulator.core.intents import Failure, Intent, IntentStatus
from simulator.core.invoices import Invoice

if TYPE_CHECKING:
    from collections.abc import Callable

INTENT_STATUS: Final[dict[Status, IntentStatus]] = {
    Status.PENDING: IntentStatus.PROCESSING,
    Status.AUTHORISED: IntentStatus.REQUIRES_CAPTURE,
    Status.CAPTURED: IntentStatus.SUCCEEDED,
    Status.REFUNDED: IntentStatus.SUCCEEDED,
    Status.DECLINED: IntentStatus.REQUIRES_PAYMENT_METHOD,
    Status.CANCELLED: IntentStatus.CANCELED,
}
"""What an intent looks like while its charge looks so."""

_LIE: Final = "do_not_honor"


def disguised(event: Event, guise: Guise, now: float, named: "Callable[[str], str]") -> Event:
    """Return an event as it looks in a guise. ``named`` gives the dialect's names of news."""
    charge, thing = event.charge, event.thing
    if guise.stale:
        charge, thing = _before(event)
    if guise.status is not None:
        charge = charge and in_status(charge, guise.status)
        thing = thing and thing_in_status(thing, guise.status)
    if guise.padding_bytes:
        padding = {"padding": "x" * guise.padding_bytes}
        charge = charge and _padded(charge, padding)
        thing = thing and _thing_padded(thing, padding)
    return replace(
        event,
        id=guise.id or event.id,
        type=_type_of(event, guise, named),
        fact=guise.type or event.fact,
        charge=charge,
        thing=thing,
        created_s=now if guise.renewed else event.created_s,
    )


def in_status(charge: Charge, status: Status) -> Charge:
    """Return a charge as it would look in another status, with the sums that belong to it."""
    paid = status in (Status.CAPTURED, Status.REFUNDED)
    return replace(
        charge,
        status=status,
        captured_minor=charge.captured_minor or charge.amount_minor if paid else 0,
        refunded_minor=charge.refunded_minor if paid else 0,
        decline_code=_LIE if status is Status.DECLINED else None,
    )


def thing_in_status(thing: Newsworthy, status: Status) -> Newsworthy:
    """Return what a desk keeps as it would look with its charge in another status."""
    match thing:
        case Intent():
            return _intent_in_status(thing, status)
        case IntentCharge(charge):
            return replace(thing, charge=in_status(charge, status))
        case IntentRefund(of=of):
            return replace(thing, of=replace(of, charge=in_status(of.charge, status)))
        case Customer() | Method() | Invoice():  # no money was ever moved by either
            return thing
        case _:
            assert_never(thing)


def _intent_in_status(intent: Intent, status: Status) -> Intent:
    shown = INTENT_STATUS[status]
    captured_minor = intent.captured_minor or intent.amount_minor
    failure = None
    if status is Status.DECLINED and intent.method and intent.charge:
        failure = Failure(intent.charge, _LIE, intent.method)
    return replace(
        intent,
        status=shown,
        method=None if status is Status.DECLINED else intent.method,
        captured_minor=captured_minor if shown is IntentStatus.SUCCEEDED else 0,
        failure=failure,
        cancelled_s=intent.created_s if status is Status.CANCELLED else None,
    )


def _before(event: Event) -> tuple[Charge | None, Newsworthy | None]:
    """Return what an event is about as it was before what the event tells of."""
    charge, thing = event.charge, event.thing
    if charge is None:  # nothing was before it
        return charge, thing
    if event.refund is None:
        return in_status(charge, Status.PENDING), thing and thing_in_status(thing, Status.PENDING)
    left_minor = charge.refunded_minor - event.refund.amount_minor
    charge = replace(charge, status=Status.CAPTURED, refunded_minor=left_minor)
    match thing:
        case IntentCharge():
            return charge, replace(thing, charge=charge)
        case IntentRefund(of=of):
            return charge, replace(thing, of=replace(of, charge=charge))
        case _:
            return charge, thing


def _type_of(event: Event, guise: Guise, named: "Callable[[str], str]") -> str:
    """Return the type of a disguised event; a fact that is the same everywhere is translated."""
    if guise.type is None:
        return event.type
    about_intent, about_charge = IN_WORDS.get(guise.type, (None, None))
    match event.thing:
        case Intent() if about_intent is not None:
            return named(about_intent)
        case IntentCharge() if about_charge is not None:
            return named(about_charge)
        case _:
            return guise.type


def _padded(charge: Charge, padding: dict[str, str]) -> Charge:
    return replace(charge, metadata={**charge.metadata, **padding})


def _thing_padded(thing: Newsworthy, padding: dict[str, str]) -> Newsworthy:
    if isinstance(thing, IntentCharge):
        return replace(thing, charge=_padded(thing.charge, padding))
    return replace(thing, metadata={**thing.metadata, **padding})
