"""What a lookup shows when it does not tell the truth.

Rule 1: only what is shown is bent; charges, ledger and events stay what they are.
Rule 2: the past of a charge is what its events carry: each shows it as it was when it was born.
"""

from collections.abc import Mapping
from dataclasses import replace

from simulator.core.charges import Charge, Status
from simulator.core.events import Event
from simulator.core.faults import Misreport
from simulator.core.results import ChargeShown, ChargesListed, Problem, Result


def misreported(result: Result, lie: Misreport, events: Mapping[str, Event], now: float) -> Result:
    """Return what a lookup says instead of ``result``; anything but a lookup stays as it is."""
    match result:
        case ChargeShown(charge):
            shown = _as_shown(charge, lie, events, now)
            return ChargeShown(shown) if shown else Problem("not_found", f"no charge {charge.id}")
        case ChargesListed(charges):
            seen = (_as_shown(charge, lie, events, now) for charge in charges)
            return ChargesListed(tuple(charge for charge in seen if charge))
        case _:
            return result


def in_status(charge: Charge, status: Status) -> Charge:
    """Return a charge as it would look in another status, with the sums that belong to it."""
    paid = status in (Status.CAPTURED, Status.REFUNDED)
    return replace(
        charge,
        status=status,
        captured_minor=charge.captured_minor or charge.amount_minor if paid else 0,
        refunded_minor=charge.refunded_minor if paid else 0,
        decline_code="do_not_honor" if status is Status.DECLINED else None,
    )


def _as_shown(
    charge: Charge, lie: Misreport, events: Mapping[str, Event], now: float
) -> Charge | None:
    """Return a charge as the lie has it, or nothing where it did not exist then."""
    seen: Charge | None = charge
    if lie.lag_s > 0:
        then_s = now - lie.lag_s
        seen = next(
            (
                event.charge
                for event in reversed(tuple(events.values()))
                if event.charge.id == charge.id and event.created_s <= then_s
            ),
            None,
        )
    if seen is not None and lie.status is not None:
        seen = in_status(seen, lie.status)
    return seen
