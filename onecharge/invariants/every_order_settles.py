"""After faults stop, every order reaches a definite end that the service and the provider share.

Liveness, so judged only once healing began. What has not converged within the bound but did
later is unknown, not violated: the machine may have been slow. The harness waits four times the
bound before it gives up.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from onecharge.history.case import Case, Convergence
from onecharge.history.evidence import of_delivery, three_sides
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    PROVIDER_TO_RECEIVER,
    Evidence,
    Judgement,
    Violation,
    money,
)
from onecharge.history.story import Event, OrderStory

RANK: Final = 50
ALWAYS: Final = True
ORDER_FREE: Final = True

_SETTLED: Final = frozenset({"succeeded", "failed", "refunded"})
"""What a service believes of an order that has come to its end."""

_STUCK_GUARD = (
    "a lease on every key in flight, and a reconciler that asks the provider about attempts "
    "older than the lease"
)
_LOST_GUARD = "store the intent and its provider key before the call, in a transaction of its own"
_EVENT_GUARD = "answer 2xx to an event that is already known; 5xx only to have it sent again"


def judge(case: Case) -> Judgement:
    """Look at how healing ended, and at every order and event afterwards."""
    if not case.healed:
        return Judgement.of(judged=0, reasons=["the run ended before healing began"])
    reasons = [*_not_waited_for(case), *_came_late(case), *_unreadable(case)]
    violations: list[Violation] = []
    if cut_short := _cut_short(case):
        reasons.append(cut_short)
    else:
        violations += _unsettled(case) if _ended(case) else ()
        violations += _never_converged(case, tuple(violations))
    return Judgement.of(judged=len(case.sent), violations=violations, reasons=reasons)


def _ended(case: Case) -> bool:
    """Whether healing was given its time: the run went on to a later phase."""
    return "quiet" in case.phases or case.read_back


def _cut_short(case: Case) -> str | None:
    """Say that nobody waited to see whether this would come right: other things were wrong."""
    overdue = case.overdue
    if overdue is None or case.converged is not None or _confirmed(overdue) or not _ended(case):
        return None
    return (
        f"not settled {overdue.after_s:g} s after faults stopped, and not waited for any longer, "
        f"since money was wrong already: {'; '.join(overdue.missing[:3])}"
    )


def _not_waited_for(case: Case) -> Iterator[str]:
    if not _ended(case) and case.converged is None and not _confirmed(case.overdue):
        yield "the run ended while healing"


def _came_late(case: Case) -> Iterator[str]:
    if case.converged is not None and case.overdue is not None:
        yield (
            f"all was settled after {case.converged.after_s:g} s, "
            f"not within {case.overdue.bound_s:g} s: {'; '.join(case.overdue.missing[:3])}"
        )


def _unreadable(case: Case) -> Iterator[str]:
    for story in case.sent:
        if story.belief is not None and story.belief.status == "unreadable":
            yield f"what the service believes of {story.order} could not be read"


def _confirmed(overdue: Convergence | None) -> bool:
    """Whether this was still missing after the time of confirmation."""
    return overdue is not None and overdue.confirmed


def _never_converged(case: Case, found: Sequence[Violation]) -> Iterator[Violation]:
    """Turn what was missing into violations, as far as no order's story already shows it."""
    overdue = case.overdue
    if overdue is None or case.converged is not None:
        return
    if not (_ended(case) or _confirmed(overdue)):
        return
    shown = {violation.order for violation in found}
    for lack in overdue.missing:
        order = next((w for w in _words(lack) if w in case.orders), None)
        if order in shown or (order is None and found):
            continue
        shown.add(order)
        story = case.orders.get(order or "")
        yield Violation(
            order=order,
            says=f"{lack}: {overdue.after_s:g} s after faults stopped, and it never came right",
            evidence=(
                *(three_sides(story) if story else ()),
                Evidence(overdue.index, "service", lack),
            ),
            boundary=CLIENT_TO_API,
            guard=_STUCK_GUARD,
            cause="an attempt was given up half-way and nobody finishes it",
            at_risk_minor=_taken(story) if story else 0,
            currency=story.currency if story else "",
        )


def _unsettled(case: Case) -> Iterator[Violation]:
    last = case.converged or case.overdue
    due = inf if last is None else last.index
    for story in case.sent:
        if story.belief is None or story.belief.status not in _SETTLED:
            if lost := _lost(story):
                yield lost
            elif stuck := _stuck(story):
                yield stuck
        for event in story.events:
            if event.created < due and not event.acknowledged:
                yield _unheard(story, event)


def _lost(story: OrderStory) -> Violation | None:
    belief = story.belief
    if belief is None or belief.status != "absent":
        return None
    real = [c for c in story.real_charges if (c.captured or 0) < belief.index]
    if not real:
        return None
    taken = money(sum(charge.captured_minor for charge in real), real[0].currency)
    return Violation(
        order=story.order,
        says=f"{story.order}: {taken} taken ({real[0].id}), and the service has no record of it",
        evidence=three_sides(story),
        boundary=API_TO_PROVIDER,
        guard=_LOST_GUARD,
        cause="the record of the attempt was rolled back or never written",
        at_risk_minor=_taken(story),
        currency=story.currency,
    )


def _stuck(story: OrderStory) -> Violation | None:
    status = None if story.belief is None else story.belief.status
    match status:
        case "pending":
            says = f"{story.order} is still pending to the service"
        case None if _waits(story):
            says = f"{story.order} never got a definite answer"
        case _:
            return None
    return Violation(
        order=story.order,
        says=says,
        evidence=three_sides(story),
        boundary=CLIENT_TO_API,
        guard=_STUCK_GUARD,
        cause="an attempt was given up half-way and nobody finishes it",
        at_risk_minor=_taken(story),
        currency=story.currency,
    )


def _waits(story: OrderStory) -> bool:
    """Whether some attempt may have done something and no answer says how it ended."""
    if any(answer.terminal for answer in story.answers):
        return False
    return any(attempt.open and attempt.outcome != "refused" for attempt in story.attempts)


def _unheard(story: OrderStory, event: Event) -> Violation:
    return Violation(
        order=story.order,
        says=f"{event.id} ({event.type}) of {story.order} was sent {len(event.attempts)} times "
        "and never acknowledged",
        evidence=tuple(of_delivery(attempt) for attempt in event.attempts[-3:])
        + three_sides(story),
        boundary=PROVIDER_TO_RECEIVER,
        guard=_EVENT_GUARD,
        cause="the receiver refuses an event that it should know or be able to apply",
        at_risk_minor=_taken(story),
        currency=story.currency,
    )


def _taken(story: OrderStory) -> int:
    return sum(charge.kept_minor for charge in story.real_charges)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:()") for word in text.split()]
