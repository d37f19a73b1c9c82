"""No charge begins after its order has definitely failed and nobody asked again.

A customer who was told *declined* pays elsewhere. What is begun for that order afterwards, by a
queue, a reconciler or a retry that nobody waits for, charges a purchase that no longer exists. A
client whose outcome is open, a later request, or an event that asks for a charge may rightly cause
one. What was under way already when the decline was said is ``answers_tell_the_truth``'s.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import API_TO_PROVIDER, Judgement, Violation, money
from onecharge.history.story import Answer, Charge, OrderStory

RANK: Final = 24

_GUARD: Final = (
    "record the failure and withdraw the attempt in one transaction, so that no worker picks it up "
    "after it has been said"
)
_FAILURES: Final = frozenset({"declined", "invalid"})


def judge(case: Case) -> Judgement:
    """Look at what began after a failure was told."""
    judged = 0
    violations: list[Violation] = []
    for story in case.sent:
        if any(answer.outcome in _FAILURES for answer in story.answers):
            judged += 1
            if found := at_once(case, story):
                violations.append(found)
    return Judgement.of(judged=judged, violations=violations)


def at_once(_: Case, story: OrderStory) -> Violation | None:
    """Report the first charge that began after a failure, for which nobody had asked by then."""
    failures = [answer for answer in story.answers if answer.outcome in _FAILURES]
    for charge in story.real_charges if failures else ():
        before = [answer for answer in failures if answer.index < charge.began]
        if before and not _asked_for(story, before[-1], charge):
            return _violation(story, before[-1], charge)
    return None


def _asked_for(story: OrderStory, failure: Answer, charge: Charge) -> bool:
    """Whether a client or an event may have caused this charge, for all that is known."""
    for attempt in story.attempts:
        if attempt.invoked < charge.began and attempt.answer is not failure:
            waiting = attempt.ended > charge.began
            if waiting or attempt.invoked > failure.index:
                return True
            if attempt.outcome == "ok" or (attempt.open and attempt.outcome != "refused"):
                return True
    return any(
        event.charge is None and delivery.sent < charge.began
        for event in story.events
        for delivery in event.attempts
    )


def _violation(story: OrderStory, failure: Answer, charge: Charge) -> Violation:
    taken = money(charge.captured_minor, charge.currency)
    told = failure.outcome
    return Violation(
        order=story.order,
        says=f"{story.order}: told {told}, and {taken} was taken afterwards ({charge.id})",
        evidence=three_sides(story, charges=[charge], answer=failure),
        boundary=API_TO_PROVIDER,
        guard=_GUARD,
        cause="an attempt went on after it had been reported as failed",
        at_risk_minor=charge.captured_minor,
        currency=charge.currency,
    )
