"""What clients were told, and what the service believes, is what the provider did.

An *ok* is true if the money of that order and amount had been taken when it was said. A
*declined* says that nothing was taken for the intent it speaks of. A decline at the provider may
be followed by a success of another attempt, so it is wrong only if the charge it denies was
under way before, and the bank did not decline anything while that attempt lasted. A refund that
was granted has been made at the end. The service's own belief must then equal the provider's
truth: never "failed" with money taken, never "succeeded" without, never "refunded" with all kept.

What a request with another body is told under a known key is ``mismatches_move_no_money``'s, what
a repeated one is told ``replays_are_faithful``'s, a charge begun after a decline
``no_zombie_charge``'s. Judged at the end: a charge that nothing names may prove to be the one that
was spoken of.
"""

from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    GUARDS,
    Boundary,
    Judgement,
    Violation,
    money,
)
from onecharge.history.story import Answer, Attempt, Belief, Charge, OrderStory

RANK: Final = 30
ALWAYS: Final = True

_UNKNOWN_GUARD: Final = (
    "leave an unknown outcome unknown: ask again under the same provider key or look the charge "
    "up, and never record it as failed"
)
_SUCCESS_GUARD: Final = "say succeeded only after the provider has said so, and record both at once"
_REPLAY_GUARD: Final = "bind the first result to the client's key and replay that one"
_REFUND_GUARD: Final = "say refunded only after the provider has said so, under a key of its own"
_BELIEVED: Final = frozenset({"succeeded", "failed", "refunded"})
_DEFINITE: Final = frozenset({"declined", "invalid", "mismatch", "refused"})


def judge(case: Case) -> Judgement:
    """Hold every answer and every last belief against the provider's ledger."""
    judged = 0
    violations: list[Violation] = []
    reasons: list[str] = []
    read_back = case.read_back
    for story in case.sent:
        if read_back and _plainly_true(story):
            judged += 1
            continue
        judged += _definite_words(story)
        if violation := _lie_about(story, read_back=read_back):
            if case.unattributed and not story.real_charges:
                reasons.append(f"{violation.says}; but some charges could not be tied to an order")
            else:
                violations.append(violation)
    return Judgement.of(judged=judged, violations=violations, reasons=reasons)


def _plainly_true(story: OrderStory) -> bool:
    """Whether it was paid once, then told so and nothing else, and is believed so: as most are."""
    belief = story.belief
    if story.others or len(story.real_charges) != 1 or belief is None:
        return False
    [charge] = story.real_charges
    for attempt in story.attempts:
        answer = attempt.answer
        if attempt.outcome == "unknown":
            continue
        if attempt.outcome != "ok" or answer is None or answer.index < charge.created:
            return False
        if answer.provider_charge not in {None, charge.id} or not charge.is_as_asked(attempt):
            return False
    return (
        belief.status == "succeeded"
        and (charge.captured or 0) < belief.index
        and belief.amount_minor in {None, charge.captured_minor}
        and charge.kept_minor > 0
    )


def _definite_words(story: OrderStory) -> bool:
    """Whether anybody said how this order ended."""
    if story.beliefs and story.beliefs[-1].status in _BELIEVED:
        return True
    return any(answer.terminal for answer in story.answers)


def _lie_about(story: OrderStory, *, read_back: bool) -> Violation | None:
    """Return the first lie about an order: one is enough to tell."""
    told = {attempt.outcome for attempt in story.attempts}
    found = None
    if "ok" in told or story.others:
        found = _false_success(story)
    if "declined" in told:
        found = found or _false_decline(story)
    if told <= _DEFINITE:
        found = found or _charge_from_nowhere(story)
    if read_back:
        if story.others:
            found = found or _false_refund(story)
        found = found or _false_belief(story)
    return found


def _false_success(story: OrderStory) -> Violation | None:
    """Report an ok that had no real charge behind it."""
    for attempt in (*story.attempts, *story.asked_how) if story.others else story.attempts:
        answer = attempt.answer
        if answer is None or answer.outcome != "ok" or attempt.other_body:
            continue
        if trouble := _behind(story, attempt, answer):
            says, boundary, guard = trouble
            return _lie(
                story,
                says=f"{story.order}: told ok (attempt {attempt.number}), but {says}",
                answer=answer,
                boundary=boundary,
                guard=guard,
                cause="a success was reported that the provider had not confirmed",
                at_risk_minor=attempt.amount_minor,
            )
    return None


def _behind(
    story: OrderStory, attempt: Attempt, answer: Answer
) -> tuple[str, Boundary, str] | None:
    """Return what is wrong with the charge behind an ok, if anything is."""
    # Authorised before the answer and captured later is how two-step services do it.
    before = [charge for charge in story.real_charges if charge.created < answer.index]
    if not before:
        late = " by then" if story.real_charges else ""
        return f"no money was taken{late}", API_TO_PROVIDER, _SUCCESS_GUARD
    if not any(charge.is_as_asked(attempt) for charge in before):
        taken = money(before[0].amount_minor, before[0].currency)
        asked = money(attempt.amount_minor, attempt.currency)
        return f"{taken} was taken instead of {asked}", CLIENT_TO_API, GUARDS[CLIENT_TO_API]
    if answer.provider_charge and all(answer.provider_charge not in c.names for c in story.charges):
        return (
            f"{answer.provider_charge} is no charge of it",
            CLIENT_TO_API,
            _REPLAY_GUARD,
        )
    return None


def _heard(attempt: Attempt) -> int:
    return attempt.invoked if attempt.answer is None else attempt.answer.index


def _false_decline(story: OrderStory) -> Violation | None:
    """Report a last word *declined* about money that was taken under the same key."""
    told = [attempt for attempt in story.attempts if attempt.answer and attempt.answer.terminal]
    if len(story.keys) > 1:
        return None  # with several keys the charge may be another key's; belief decides then
    last = max(told, key=_heard)
    answer = last.answer
    if answer is None or answer.outcome != "declined" or _bank_said_no(story, last, answer):
        return None
    begun = [charge for charge in story.real_charges if charge.began < answer.index]
    for charge in begun:
        if charge.created < answer.index or _nobody_else(story, charge, last):
            return _lie(
                story,
                says=f"{story.order}: told declined, but {_taken(charge)}",
                answer=answer,
                boundary=API_TO_PROVIDER,
                guard=_UNKNOWN_GUARD,
                cause="an unknown outcome was recorded as failed",
                at_risk_minor=charge.captured_minor,
            )
    return None


def _bank_said_no(story: OrderStory, attempt: Attempt, answer: Answer) -> bool:
    """Whether the provider declined a charge while this attempt lasted."""
    return any(
        charge.declined is not None and attempt.invoked < charge.declined < answer.index
        for charge in story.charges
    )


def _nobody_else(story: OrderStory, charge: Charge, told: Attempt) -> bool:
    """Whether no other attempt, open or later, can have caused a charge made after the answer."""
    return not any(
        other is not told
        and other.open
        and other.outcome != "refused"
        and other.invoked < charge.created
        for other in story.attempts
    )


def _charge_from_nowhere(story: OrderStory) -> Violation | None:
    """Report money taken although every attempt was refused for certain."""
    if not story.attempts:  # it was billed, not asked for
        return None
    last = max(story.attempts, key=_heard)
    real = [charge for charge in story.real_charges if charge.began < _heard(last)]
    if not real:
        return None
    return _lie(
        story,
        says=f"{story.order}: every attempt was refused, but {_taken(real[0])}",
        answer=last.answer,
        boundary=CLIENT_TO_API,
        guard="refuse a request before anything is done for it",
        cause="a request was executed and then answered as if it had not been",
        at_risk_minor=real[0].captured_minor,
    )


def _false_refund(story: OrderStory) -> Violation | None:
    """Report a refund that was granted and never made, once there was time to make it."""
    granted = {
        attempt.key or attempt.lane: attempt
        for attempt in story.refunds_asked
        if attempt.outcome == "ok" and attempt.variant != "other_operation"
    }
    taken = sum(charge.captured_minor for charge in story.real_charges)
    given = taken - story.kept_minor
    promised = sum(attempt.amount_minor or taken for attempt in granted.values())
    if given >= promised:
        return None
    last = max(granted.values(), key=_heard)
    said, done = money(promised, story.currency), money(given, story.currency)
    return _lie(
        story,
        says=f"{story.order}: told {said} refunded (attempt {last.number}), but {done} was",
        answer=last.answer,
        boundary=API_TO_PROVIDER,
        guard=_REFUND_GUARD,
        cause="a refund was reported that the provider had not confirmed",
        at_risk_minor=promised - given,
    )


def _false_belief(story: OrderStory) -> Violation | None:
    """Report a final belief that is not what the provider did."""
    belief = story.belief
    if belief is None or belief.status not in _BELIEVED:
        return None
    real = [c for c in story.real_charges if (c.captured or 0) < belief.index]
    if belief.status == "failed":
        kept = [charge for charge in real if charge.kept_minor]
        says = f"the service believes it failed, but {_taken(kept[0])}" if kept else None
        cause, guard = "an unknown outcome was recorded as failed", _UNKNOWN_GUARD
    elif belief.status == "refunded":
        given = any(charge.refunded_minor for charge in real)
        says = None if given else "the service believes it was refunded, but nothing was given back"
        cause, guard = "a refund was recorded that the provider did not confirm", _REFUND_GUARD
    else:
        says = _without_money(story, belief, real)
        cause, guard = "a success was recorded that the provider did not confirm", _SUCCESS_GUARD
    if says is None:
        return None
    return _lie(
        story,
        says=f"{story.order}: {says}",
        answer=None,
        boundary=API_TO_PROVIDER,
        guard=guard,
        cause=cause,
        at_risk_minor=sum(charge.kept_minor for charge in real) or story.amount_minor,
    )


def _without_money(story: OrderStory, belief: Belief, real: list[Charge]) -> str | None:
    if not real:
        return "the service believes it succeeded, but no money was taken"
    if not any(charge.kept_minor for charge in real):
        knows = belief.refunds or belief.refunded_minor or story.refunds_asked
        if not knows:
            return f"the service believes it succeeded, but {real[0].id} was given back"
    amounts = [charge.captured_minor for charge in real]
    if belief.amount_minor is not None and belief.amount_minor not in amounts:
        believed = money(belief.amount_minor, story.currency)
        return f"the service believes {believed} was taken, but {_taken(real[0])}"
    return None


def _taken(charge: Charge) -> str:
    return f"{money(charge.captured_minor, charge.currency)} was taken ({charge.id})"


def _lie(
    story: OrderStory,
    *,
    says: str,
    answer: Answer | None,
    boundary: Boundary,
    guard: str,
    cause: str,
    at_risk_minor: int,
) -> Violation:
    return Violation(
        order=story.order,
        says=says,
        evidence=three_sides(story, answer=answer),
        boundary=boundary,
        guard=guard,
        cause=cause,
        at_risk_minor=at_risk_minor,
        currency=story.currency,
    )
