"""When all is settled, the service's books and the provider's ledger come to the same.

Counted over the whole run, so that nothing can be booked under the wrong order unseen: charges,
what they come to, and what was given back. How often one order was credited, and why, is
``one_effect_per_event``'s to tell.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    PROVIDER_TO_RECEIVER,
    Judgement,
    Violation,
    money,
)
from onecharge.history.story import Belief, OrderStory

NEEDS: Final = frozenset({"effects"})
RANK: Final = 41
ORDER_FREE: Final = True

_GUARD: Final = (
    "book every charge and every refund as an entry of its own, under a unique constraint, in the "
    "transaction that learns of it, and derive every sum from the entries"
)
_SHOWN = 3


def judge(case: Case) -> Judgement:
    """Add up both sides, order by order."""
    if not case.at_rest or case.unattributed:  # then every sum is in doubt
        return Judgement.of(judged=0)
    judged = 0
    differing: dict[str, list[tuple[OrderStory, str, int]]] = {}
    for story in case.orders.values():
        if story.booked_as_taken:
            judged += 1
            continue
        belief = story.belief
        if belief is None or belief.effects is None:
            continue
        judged += bool(story.real_charges or belief.effects)
        if found := _difference(story, belief):
            differing.setdefault(story.currency, []).append((story, *found))
    violations = [_violation(currency, found) for currency, found in differing.items()]
    return Judgement.of(judged=judged, violations=violations)


def _difference(story: OrderStory, belief: Belief) -> tuple[str, int] | None:
    """Return how an order's books differ from the ledger, and by how much money."""
    real = [charge for charge in story.real_charges if (charge.captured or 0) < belief.index]
    taken = sum(charge.captured_minor for charge in real)
    given = sum(r.amount_minor for c in real for r in c.refunds if r.index < belief.index)
    booked = belief.effects_minor
    if belief.effects != len(real):
        apart = taken - booked if booked is not None else taken
        return f"{len(real)} charged, {belief.effects} booked", abs(apart) or story.amount_minor
    if booked is not None and booked != taken:
        ours, theirs = money(taken, story.currency), money(booked, story.currency)
        return f"{ours} taken, {theirs} booked", abs(taken - booked)
    if belief.refunded_minor is not None and belief.refunded_minor != given:
        ours = money(given, story.currency)
        theirs = money(belief.refunded_minor, story.currency)
        return f"{ours} given back, {theirs} booked", abs(given - belief.refunded_minor)
    return None


def _violation(currency: str, differing: list[tuple[OrderStory, str, int]]) -> Violation:
    shown = "; ".join(f"{story.order}: {says}" for story, says, _ in differing[:_SHOWN])
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    first = differing[0][0]
    belief = first.belief
    too_much = belief is not None and (belief.effects or 0) > len(first.real_charges)
    return Violation(
        order=None,
        says=f"the books differ from the provider's in {len(differing)} order(s): {shown}{more}",
        evidence=three_sides(first),
        boundary=PROVIDER_TO_RECEIVER if too_much else API_TO_PROVIDER,
        guard=_GUARD,
        cause="something was booked that did not happen, or happened and was not booked",
        at_risk_minor=sum(amount for _, _, amount in differing),
        currency=currency,
    )
