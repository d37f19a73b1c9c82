"""No more is given back than was taken, nor more than was asked to be given back.

A refund is asked for under a key, like a charge; asked for twice it is made once. What nobody asked
for may be given back only where an order was charged more than once, or had failed for its
customer. Judged at the end: what a customer has yet to ask for may have been given back already.
"""

from collections.abc import Iterator
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_attempt, of_refund, three_sides
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    GUARDS,
    PROVIDER_TO_RECEIVER,
    Boundary,
    Judgement,
    Violation,
    money,
)
from onecharge.history.story import OrderStory

NEEDS: Final = frozenset({"refunds"})
RANK: Final = 11
ORDER_FREE: Final = True

_ASKED_SHOWN = 3
_REFUSED: Final = frozenset({"declined", "invalid", "mismatch", "refused"})
_BOOKS_GUARD: Final = (
    "check and book a refund under a lock on its charge, so that two at once cannot both find room"
)


def judge(case: Case) -> Judgement:
    """Compare what was given back with what was taken, and with what clients asked for."""
    judged = 0
    violations: list[Violation] = []
    for story in case.orders.values():
        believed = 0 if story.belief is None else story.belief.refunded_minor or 0
        given = any(charge.refunds for charge in story.charges)
        if story.others or given or believed:
            judged += bool(story.refunds_asked or given or believed)
            violations += list(_too_much(story, believed))[:1]
    return Judgement.of(judged=judged, violations=violations)


def _too_much(story: OrderStory, believed: int) -> Iterator[Violation]:
    real = story.real_charges
    taken = sum(charge.captured_minor for charge in real)
    given = sum(charge.refunded_minor for charge in real)
    asked = _asked_for(story, taken)
    # A second charge may be given back by a service that notices; that is no refund too many.
    surplus = taken - max((charge.captured_minor for charge in real), default=0)
    back = money(given, story.currency)
    if given > asked + surplus and asked:
        same_key = len({refund.key for charge in real for refund in charge.refunds}) == 1
        yield _violation(
            story,
            f"{story.order}: {back} was given back, {money(asked, story.currency)} was asked for",
            *_where(story, same_key=same_key),
            at_risk_minor=given - asked - surplus,
        )
    elif given > asked + surplus and _told_ok_last(story):
        yield _violation(
            story,
            f"{story.order}: {back} was given back, and nobody had asked for it",
            API_TO_PROVIDER,
            "a purchase that was told ok was undone by another path, as if it were a duplicate",
            "let the response path and the webhook path book one charge once, by a unique "
            "constraint; whoever comes second has nothing to undo",
            at_risk_minor=given - surplus,
        )
    if believed > taken:
        says = f"{money(believed, story.currency)} of {money(taken, story.currency)} taken"
        yield _violation(
            story,
            f"{story.order}: the service believes it gave back {says}",
            *_where_booked(story, asked=asked, taken=taken, given=given),
            at_risk_minor=believed - taken,
        )


def _asked_for(story: OrderStory, taken: int) -> int:
    """Add up the refunds that clients asked for and were not refused, each key once."""
    amounts: dict[str, int] = {}
    for attempt in story.refunds_asked:
        if attempt.outcome not in _REFUSED:
            name = attempt.key or attempt.lane
            amounts[name] = max(amounts.get(name, 0), attempt.amount_minor or taken)
    return sum(amounts.values())


def _told_ok_last(story: OrderStory) -> bool:
    told = [answer for answer in story.answers if answer.terminal]
    return bool(told) and told[-1].outcome == "ok"


def _where(story: OrderStory, *, same_key: bool) -> tuple[Boundary, str, str]:
    """Tell a service that asked the provider anew from one that executed a request twice."""
    unknown = any(attempt.outcome == "unknown" for attempt in story.refunds_asked)
    if len(story.refunds_asked) > 1 and not unknown:
        cause = "a refund that came again was executed again"
        return CLIENT_TO_API, cause, GUARDS[CLIENT_TO_API]
    cause = "one refund was sent to the provider under several keys, or under none"
    if same_key:
        cause = "one refund was sent to the provider again, without a key that it honoured"
    return API_TO_PROVIDER, cause, GUARDS[API_TO_PROVIDER]


def _where_booked(
    story: OrderStory, *, asked: int, taken: int, given: int
) -> tuple[Boundary, str, str]:
    """Tell two refunds that found room for both from one that was booked as often as told."""
    told = any(
        "refund" in event.type and delivery.acknowledged
        for event in story.events
        for delivery in event.attempts
    )
    if given and asked <= taken and told:
        cause = "one refund was booked more than once: by its answer and by its events"
        guard = "book a refund once by its own id, under a unique index, whoever tells of it"
        return PROVIDER_TO_RECEIVER, cause, guard
    return CLIENT_TO_API, "two refunds were checked against the same balance", _BOOKS_GUARD


def _violation(
    story: OrderStory, says: str, boundary: Boundary, cause: str, guard: str, *, at_risk_minor: int
) -> Violation:
    pieces = [*three_sides(story), *map(of_attempt, story.refunds_asked[:_ASKED_SHOWN])]
    pieces += [
        of_refund(refund, charge)
        for charge in story.real_charges
        for refund in charge.refunds[:_ASKED_SHOWN]
    ]
    return Violation(
        order=story.order,
        says=says,
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)),
        boundary=boundary,
        guard=guard,
        cause=cause,
        at_risk_minor=at_risk_minor,
        currency=story.currency,
    )
