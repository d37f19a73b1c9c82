"""An event that comes again after it was acknowledged is acknowledged again, soon.

A duplicate that is answered with an error is sent once more, and again: providers switch such
endpoints off. Before its first acknowledgement an event may be refused as not yet known; one error
for a duplicate that is then taken is advice. Judged at the end: it may be taken yet.
"""

from collections.abc import Iterator
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_delivery, three_sides
from onecharge.history.judgement import PROVIDER_TO_RECEIVER, Judgement, Violation
from onecharge.history.story import Delivering, Event

NEEDS: Final = frozenset({"webhooks"})
RANK: Final = 51
ORDER_FREE: Final = True

PATIENCE: Final = 3
"""So often a duplicate may be answered with an error before it counts."""

_GUARD: Final = (
    "answer 2xx to an event that is already known; and treat only the conflict on its own id as "
    "a duplicate"
)
_SHOWN = 3


def judge(case: Case) -> Judgement:
    """Look at what became of every event after it had been acknowledged once."""
    judged = 0
    violations: list[Violation] = []
    grudging: list[str] = []
    for event in case.events.values():
        if len(event.attempts) < 2:
            continue
        for again in _duplicates(event):
            judged += 1
            refused = [d for d in again if d.status is not None and not d.acknowledged]
            if refused and not again[-1].acknowledged and len(refused) >= PATIENCE:
                violations.append(_violation(case, event, refused))
            elif refused:
                grudging.append(event.id)
    return Judgement.of(judged=judged, violations=violations, advice=_advice(grudging))


def _duplicates(event: Event) -> Iterator[list[Delivering]]:
    """Yield, for each endpoint, what was sent after it had acknowledged the event."""
    by_endpoint: dict[str, list[Delivering]] = {}
    for delivery in event.attempts:
        if not delivery.unverifiable:
            by_endpoint.setdefault(delivery.endpoint, []).append(delivery)
    for deliveries in by_endpoint.values():
        known = min((d.ended for d in deliveries if d.acknowledged and d.ended), default=None)
        if known is not None and (again := [d for d in deliveries if d.sent > known]):
            yield again


def _advice(grudging: list[str]) -> tuple[str, ...]:
    if not grudging:
        return ()
    says = "events that were known already were answered with an error"
    return (f"{says} ({len(grudging)}; {grudging[0]})",)


def _violation(case: Case, event: Event, refused: list[Delivering]) -> Violation:
    tied = case.charges.get(event.charge or "")
    story = case.orders.get((tied.order if tied else None) or event.order or "")
    pieces = [of_delivery(delivery) for delivery in refused[-_SHOWN:]]
    pieces += three_sides(story) if story else ()
    return Violation(
        order=story.order if story else None,
        says=f"{event.id} ({event.type}) was acknowledged, and refused {len(refused)} times when "
        "it came again",
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)),
        boundary=PROVIDER_TO_RECEIVER,
        guard=_GUARD,
        cause=f"a duplicate is an error to the receiver (HTTP {refused[-1].status})",
    )
