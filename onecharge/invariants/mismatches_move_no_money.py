"""A key that comes again with another body is refused and moves no money.

Of two bodies under one key one may be executed: the first that the service took. A mismatch that
is told *ok* beside it, or money taken for both, is wrong. How it is refused, by 400, 409, 422 or by
being told to wait, is the service's to choose; and a key whose first body was declined may be free
again. A refund under the key of a charge is another request as well: it may be refused or made, but
the charge's answer is none to it.
"""

from collections.abc import Iterator
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import CLIENT_TO_API, Judgement, Violation, money
from onecharge.history.story import OTHER_BODIES, Attempt, Charge, OrderStory

RANK: Final = 21

_GUARD: Final = (
    "store a fingerprint of the request with its key, and compare it on every path before "
    "anything is done or replayed"
)
_TAKEN: Final = frozenset({"ok", "pending"})


def judge(case: Case) -> Judgement:
    """Look at every request that carried a known key and another body."""
    judged = 0
    violations: list[Violation] = []
    for story in case.sent:
        others = [attempt for attempt in story.attempts if attempt.variant in OTHER_BODIES]
        if story.others:
            misused = [a for a in story.refunds_asked if a.variant == "other_operation"]
            judged += len(misused)
            violations += list(_taken_for_the_charge(story, misused))[:1]
        judged += len(others)
        if others and (found := at_once(case, story)):
            violations.append(found)
    return Judgement.of(judged=judged, violations=violations)


def at_once(case: Case, story: OrderStory) -> Violation | None:
    """Report another body that was executed or told *ok*; a refund may yet be made of a misuse."""
    for attempt in story.attempts:
        if attempt.variant in OTHER_BODIES:
            first = _first_of_its_key(case, story, attempt)
            if first and (found := next(_wrong(story, first, attempt), None)):
                return found  # one is enough to tell
    return None


def _first_of_its_key(case: Case, story: OrderStory, attempt: Attempt) -> Attempt | None:
    """Return the honest request that the service had taken, if it said so."""
    life = case.life_at(attempt.invoked, story)
    taken = (
        other
        for other in story.attempts
        if (other.key, other.tenant) == (attempt.key, attempt.tenant)
        and not other.other_body
        and other.outcome in _TAKEN
        and case.life_at(other.invoked, story) == life
    )
    return min(taken, key=lambda other: other.ended, default=None)


def _wrong(story: OrderStory, first: Attempt, attempt: Attempt) -> Iterator[Violation]:
    executed = [charge for charge in story.real_charges if _is_for(charge, attempt, first)]
    if executed:
        taken = money(executed[0].captured_minor, executed[0].currency)
        says = f"took {taken} ({executed[0].id}) for another body under the key of attempt"
        yield _violation(
            story,
            attempt,
            f"{story.order}: {says} {first.number}",
            cause="the same key with another body was executed instead of refused",
            at_risk_minor=executed[0].captured_minor,
        )
    elif attempt.outcome == "ok":
        asked = money(attempt.amount_minor, attempt.currency)
        yield _violation(
            story,
            attempt,
            f"{story.order}: attempt {attempt.number} asked for {_what(attempt, asked)} under the "
            f"key of attempt {first.number}, and was told ok",
            cause="the stored answer was replayed without comparing the request",
            at_risk_minor=attempt.amount_minor,
        )


def _taken_for_the_charge(story: OrderStory, misused: list[Attempt]) -> Iterator[Violation]:
    """Report a refund that was told ok because its key had charged, and was never made."""
    for attempt in misused:
        if attempt.outcome == "ok" and not any(charge.refunds for charge in story.charges):
            yield _violation(
                story,
                attempt,
                f"{story.order}: a refund under the key of the charge was told ok and never made",
                cause="a stored answer is found by its key, whatever was asked for",
                at_risk_minor=attempt.amount_minor,
            )


def _is_for(charge: Charge, attempt: Attempt, first: Attempt) -> bool:
    """Whether a charge was made as the mismatch asked for it, and not as the first one did."""
    return charge.began > attempt.invoked and {
        "other_amount": charge.amount_minor == attempt.amount_minor != first.amount_minor,
        "other_currency": charge.currency.upper() == attempt.currency.upper()
        and attempt.currency.upper() != first.currency.upper(),
        "other_customer": charge.customer == attempt.customer != first.customer,
    }.get(attempt.variant, False)


def _what(attempt: Attempt, asked: str) -> str:
    return f"customer {attempt.customer}" if attempt.variant == "other_customer" else asked


def _violation(
    story: OrderStory, attempt: Attempt, says: str, *, cause: str, at_risk_minor: int
) -> Violation:
    return Violation(
        order=story.order,
        says=says,
        evidence=three_sides(story, answer=attempt.answer),
        boundary=CLIENT_TO_API,
        guard=_GUARD,
        cause=cause,
        at_risk_minor=at_risk_minor,
        currency=story.currency,
    )
