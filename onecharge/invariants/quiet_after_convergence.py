"""Once all is settled the service leaves the provider alone: no storm of retries goes on.

Liveness, so judged only after healing. Looking things up is nobody's loss; what counts are calls
that would move money, several for one order, when there is nothing left to do.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import API_TO_PROVIDER, Evidence, Judgement, Violation
from onecharge.history.story import MOVES_MONEY, Call, OrderStory

RANK: Final = 52
ORDER_FREE: Final = True

STORM: Final = 3
"""So many calls for one order after all was settled are a storm."""

_GUARD: Final = "end a retry when its order is settled, whoever settled it; back off, and give up"
_SHOWN = 3


def judge(case: Case) -> Judgement:
    """Count the calls that would move money after everything had converged."""
    settled = case.converged
    if settled is None or not case.read_back:
        return Judgement.of(judged=0)  # that it never came to rest is every_order_settles' to tell
    storms: dict[str, list[Call]] = {}
    for call in case.calls.values():
        if call.received > settled.index and call.operation in MOVES_MONEY:
            storms.setdefault(call.order or call.key or call.operation, []).append(call)
    violations = [
        _violation(case.orders.get(name), name, calls)
        for name, calls in storms.items()
        if len(calls) >= STORM
    ]
    return Judgement.of(judged=len(case.calls), violations=violations)


def _violation(story: OrderStory | None, name: str, calls: list[Call]) -> Violation:
    pieces = [*(three_sides(story) if story else ())]
    pieces += [
        Evidence(
            call.received, "provider", f"{call.id} {call.operation} came after all was settled"
        )
        for call in calls[:_SHOWN]
    ]
    return Violation(
        order=story.order if story else None,
        says=f"{name}: {len(calls)} more calls to the provider after all was settled",
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)),
        boundary=API_TO_PROVIDER,
        guard=_GUARD,
        cause="a retry goes on although there is nothing left to do",
        currency=story.currency if story else "",
    )
