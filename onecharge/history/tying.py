"""Gives everything that was seen its order: charges first, then what speaks of them.

Rule 1: a charge that names its order is tied at once; the other clues are weighed for the rest.
Rule 2: calls, events and firings follow their charge, and only without one the order they name.
"""

from collections.abc import Mapping

from onecharge.history.attribution import Attribution, Clues, Planted, Tie, attribute
from onecharge.history.case import Case
from onecharge.history.story import Charge, OrderStory


def tie_charges(case: Case) -> None:
    """Give every charge to its order's story, and list the real ones that have none."""
    ties: dict[str, Tie] = {}
    doubtful: list[Charge] = []
    for charge in case.charges.values():
        named = _named(case, charge)
        if named is None:
            doubtful.append(charge)
        else:
            ties[charge.id] = Tie(named, "reference")
    untied: tuple[str, ...] = ()
    if doubtful:
        ids = {name: charge.id for charge in case.charges.values() for name in charge.names}
        weighed = attribute(
            (_clues(case, charge) for charge in doubtful),
            (_planted(story, ids, in_order=not case.hosts) for story in case.orders.values()),
        )
        ties |= weighed.ties
        untied = weighed.untied
    case.attribution = Attribution(ties, untied)
    for charge in case.charges.values():
        if tie := ties.get(charge.id):
            give(charge, tie, case.orders[tie.order])
        elif charge.captured is not None:
            case.unattributed += (charge,)


def tie_the_rest(case: Case) -> None:
    """Give calls, events and firings to the stories that they belong to."""
    orders, charges = case.orders, case.charges
    for call in case.calls.values():
        tied = charges.get(call.charge) if call.charge else None
        if story := orders.get((tied.order if tied else None) or call.order or ""):
            story.calls.append(call)
    for event in case.events.values():
        tied = charges.get(event.charge) if event.charge else None
        if story := orders.get((tied.order if tied else None) or event.order or ""):
            story.events.append(event)
    for firing in case.firings:
        struck = case.calls.get(firing.call or "")
        tied = charges.get(struck.charge) if struck and struck.charge else None
        if story := orders.get((tied.order if tied else None) or firing.order or ""):
            story.firings.append(firing)


def give(charge: Charge, tie: Tie, story: OrderStory) -> None:
    """Put a charge into the story of its order."""
    charge.order, charge.tied_by = tie.order, tie.rule
    story.charges.append(charge)
    if charge.captured is not None:
        story.real_charges.append(charge)


def _named(case: Case, charge: Charge) -> str | None:
    """Return the order that the charge names outright, or that the call behind it does."""
    if charge.reference in case.orders:
        return charge.reference
    call = case.calls.get(charge.call or "")
    return call.order if call and call.order in case.orders else None


def _clues(case: Case, charge: Charge) -> Clues:
    call = case.calls.get(charge.call or "")
    return Clues(
        charge=charge.id,
        at=charge.created,
        amount_minor=charge.amount_minor,
        currency=charge.currency.upper(),
        mentions=charge.mentions + (call.mentions if call else ()),
        customer=charge.customer,
    )


def _planted(story: OrderStory, ids: Mapping[str, str], *, in_order: bool) -> Planted:
    """Return what an order may be known by; ``ids`` are the charges by all their names."""
    last = max((answer.index for answer in story.answers), default=None)
    settled = bool(story.attempts) and not any(attempt.open for attempt in story.attempts)
    amounts = {(a.amount_minor, a.currency.upper()) for a in story.attempts}
    if story.amount_minor:
        amounts.add((story.amount_minor, story.currency.upper()))
    return Planted(
        order=story.order,
        customers=frozenset(story.customers),
        amounts=frozenset(amounts),
        opened_at=story.attempts[0].invoked if story.attempts and in_order else None,
        closed_at=last if settled else None,
        told_ok=any(answer.outcome == "ok" for answer in story.answers),
        named=frozenset(
            ids.get(a.provider_charge, a.provider_charge)
            for a in story.answers
            if a.provider_charge
        ),
    )
