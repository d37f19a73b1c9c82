"""A forged, unsigned or stale event changes nothing.

Judged by what the service believes and has booked, not by how it answers: one that looks up what it
was told of may acknowledge anything. To acknowledge what cannot be verified, and not to look, is
advice. Judged at the end, when the service has been asked what it believes.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_delivery, three_sides
from onecharge.history.judgement import PROVIDER_TO_RECEIVER, Judgement, Violation
from onecharge.history.story import Belief, Delivering, OrderStory

NEEDS: Final = frozenset({"webhooks"})
RANK: Final = 23
ORDER_FREE: Final = True

_GUARD: Final = (
    "verify the signature over the raw body and the age of its timestamp before anything is read, "
    "or take from an event no more than the id of what to look up"
)
_LOOKS_UP: Final = frozenset({"charge.read", "charge.list", "event.read", "event.list"})
_SHOWN = 3


def judge(case: Case) -> Judgement:
    """Look at every order that somebody told a story about that could not be verified."""
    judged = 0
    violations: list[Violation] = []
    trusting: list[str] = []
    reasons: list[str] = []
    for story in case.orders.values():
        told = [d for event in story.events for d in event.attempts if d.unverifiable]
        if not told:
            continue
        judged += story.belief is not None or bool(story.real_charges)
        change = _changed(story, told)
        if change and case.unattributed and not story.real_charges:
            reasons.append(f"{story.order}: {change}; but some charges could not be tied")
        elif change:
            violations.append(_violation(story, told, change))
        trusting += [d.attempt for d in told if d.acknowledged and not _looked(story, d)]
    return Judgement.of(
        judged=judged, violations=violations, reasons=reasons, advice=_advice(trusting)
    )


def _changed(story: OrderStory, told: list[Delivering]) -> str | None:
    """Return what the service holds for true that only an unverifiable event can have told it."""
    if not any(d.forged or d.acknowledged for d in told):
        return None
    if not story.attempts and any(_caused(story, d) for d in told):
        return f"{story.real_charges[0].id} was made because of it"
    belief = story.belief
    return None if belief is None else _untrue(story, belief)


def _caused(story: OrderStory, delivery: Delivering) -> bool:
    return any(charge.created > delivery.sent for charge in story.real_charges)


def _untrue(story: OrderStory, belief: Belief) -> str | None:
    real = [c for c in story.real_charges if (c.captured or 0) < belief.index]
    if (belief.effects or 0) > len(real):
        return f"{belief.effects} credit(s) are booked for {len(real)} real charge(s)"
    given = any(charge.refunds for charge in real)
    kept = any(charge.kept_minor for charge in real)
    match belief.status:
        case "succeeded" if not real:
            return "the service believes it was paid"
        case "refunded" if not given:
            return "the service believes it was refunded"
        case "failed" if kept:
            return "the service believes it failed"
        case _:
            return None


def _looked(story: OrderStory, delivery: Delivering) -> bool:
    """Whether the service asked the provider once it had been told."""
    return any(c.operation in _LOOKS_UP and c.received > delivery.sent for c in story.calls)


def _advice(trusting: list[str]) -> tuple[str, ...]:
    if not trusting:
        return ()
    says = "deliveries that could not be verified were acknowledged"
    return (f"{says} ({len(trusting)}; {trusting[0]})",)


def _violation(story: OrderStory, told: list[Delivering], change: str) -> Violation:
    pieces = [*three_sides(story), *map(of_delivery, told[:_SHOWN])]
    kind = "forged" if told[0].forged else ", ".join(told[0].faults).replace("_", " ")
    return Violation(
        order=story.order,
        says=f"{story.order}: after an event that cannot be verified ({kind}), {change}",
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)),
        boundary=PROVIDER_TO_RECEIVER,
        guard=_GUARD,
        cause=f"{told[0].event} was believed although nobody can know who sent it",
        at_risk_minor=story.amount_minor,
        currency=story.currency,
    )
