"""The service books every real charge exactly once, however often it hears of it.

Compared when all is settled: what the service has booked for an order, in number and in sum,
against what the provider took for it. Too much is wrong at any time; too little may still be on
its way until healing is over. Judged at the end: what the service says now it may correct, and what
it has booked may be for a charge whose order is found out later.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_delivery, three_sides
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    GUARDS,
    PROVIDER_TO_RECEIVER,
    Evidence,
    Judgement,
    Violation,
    money,
)
from onecharge.history.story import Belief, Charge, Delivering, OrderStory

NEEDS: Final = frozenset({"effects", "webhooks"})
RANK: Final = 40
ALWAYS: Final = True
ORDER_FREE: Final = True

_DELIVERIES_SHOWN = 3


def judge(case: Case) -> Judgement:
    """Compare the service's ledger with the provider's, order by order."""
    judged = 0
    violations: list[Violation] = []
    reasons: list[str] = []
    for story in case.sent:
        if story.booked_as_taken:
            judged += 1
            continue
        belief = story.belief
        if belief is None or belief.effects is None:
            if story.real_charges:
                reasons.append(f"what the service booked for {story.order} could not be read")
            continue
        judged += bool(story.charges or belief.effects)
        # A charge made after the question was asked cannot be in the answer.
        real = [c for c in story.real_charges if (c.captured or 0) < belief.index]
        if (trouble := _trouble(belief, real, story.currency)) is None:
            continue
        if _may_yet_be_booked(case, belief, real):
            reasons.append(f"{story.order}: the run ended before its charge had to be booked")
        elif case.unattributed and (belief.effects or 0) > len(real):
            reasons.append(f"{story.order}: {trouble}; but some charges could not be tied")
        else:
            violations.append(_violation(story, belief, real, trouble))
    return Judgement.of(judged=judged, violations=violations, reasons=reasons)


def _trouble(belief: Belief, real: list[Charge], currency: str) -> str | None:
    if belief.effects != len(real):
        return f"{len(real)} real charge(s), {belief.effects} booked"
    for event, effects in (belief.effects_by_event or {}).items():
        if effects > 1:
            return f"{event} was booked {effects} times"
    taken = sum(charge.captured_minor for charge in real)
    if belief.effects_minor is not None and belief.effects_minor != taken:
        return f"{money(taken, currency)} taken, {money(belief.effects_minor, currency)} booked"
    return None


def _may_yet_be_booked(case: Case, belief: Belief, real: list[Charge]) -> bool:
    return not case.read_back and (belief.effects or 0) < len(real)


def _violation(story: OrderStory, belief: Belief, real: list[Charge], trouble: str) -> Violation:
    deliveries = [d for event in story.events for d in event.attempts if d.acknowledged]
    taken = sum(charge.captured_minor for charge in real)
    booked = belief.effects_minor
    if booked is None:
        booked = (belief.effects or 0) * story.amount_minor
    # Nobody told the receiver of it, or of all of it: then the way back from the provider is open.
    unheard = (belief.effects or 0) < len(real) and (len(real) > 1 or not deliveries)
    boundary = API_TO_PROVIDER if unheard else PROVIDER_TO_RECEIVER
    return Violation(
        order=story.order,
        says=f"{story.order}: {trouble}",
        evidence=_evidence(story, real, deliveries),
        boundary=boundary,
        guard=GUARDS[boundary],
        cause=_cause(belief, real, deliveries),
        at_risk_minor=abs(taken - booked),
        currency=story.currency,
    )


def _evidence(
    story: OrderStory, real: list[Charge], deliveries: list[Delivering]
) -> tuple[Evidence, ...]:
    told = tuple(of_delivery(delivery) for delivery in deliveries[:_DELIVERIES_SHOWN])
    pieces = three_sides(story, charges=real) + told
    return tuple(sorted(pieces, key=lambda piece: piece.index))


def _cause(belief: Belief, real: list[Charge], deliveries: list[Delivering]) -> str:
    if (belief.effects or 0) > len(real):
        counts: dict[str, int] = {}
        for delivery in deliveries:
            counts[delivery.event] = counts.get(delivery.event, 0) + 1
        if repeated := [event for event, count in counts.items() if count > 1]:
            return f"{repeated[0]} was delivered {counts[repeated[0]]} times and booked each time"
        return "the reply and the webhook both booked the charge"
    if (belief.effects or 0) == len(real):
        return "the right number of credits with a wrong amount"
    if len(real) > 1:
        return "a charge was made that the service does not know of"
    if deliveries:
        return f"{deliveries[0].event} was acknowledged without being booked"
    return "neither the reply nor a webhook led to a credit"
