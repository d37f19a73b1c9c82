"""Distinct orders are charged each for itself, however much they look alike.

Two equal purchases of one customer in the same second are two purchases. As many as were told *ok*
must have been charged, and no two orders are answered with one charge. Judged at the end: a charge
may yet come.
"""

from collections.abc import Iterator
from typing import Final

from onecharge.history.attribution import HOW_TO_TIE
from onecharge.history.case import Case
from onecharge.history.evidence import of_attempt, of_charge
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    Boundary,
    Judgement,
    Violation,
)
from onecharge.history.story import Attempt, OrderStory

RANK: Final = 22
ORDER_FREE: Final = True

_GUARD: Final = (
    "tell purchases apart by the client's key or the order, never by amount, customer or time; "
    "and derive the provider's key from that"
)
_UNTIED: Final = f"some charges could not be tied to an order: {HOW_TO_TIE}"
_SHOWN = 4


def judge(case: Case) -> Judgement:
    """Look for orders answered with one charge, and count the charges of look-alikes."""
    judged = 0
    reasons: list[str] = []
    violations = list(_one_for_two(case))
    if case.unattributed and violations:  # the charge that is missing may be among those
        reasons += [f"{violation.says}; but {_UNTIED}" for violation in violations]
        violations = []
    told = {violation.order for violation in violations}
    for group in _alike(case):
        judged += len(group)
        paid = [story for story in group if _success(story)]
        real = sum(len(story.real_charges) for story in group)
        if real >= len(paid) or any(story.order in told for story in group):
            continue
        if case.unattributed:
            reasons.append(f"{len(paid)} equal orders were told ok, {real} charged; but {_UNTIED}")
        else:
            violations.append(_too_few(group, paid, real))
    return Judgement.of(judged=judged, violations=violations, reasons=reasons)


def _alike(case: Case) -> list[list[OrderStory]]:
    """Return the groups of orders that nothing but their references and keys tells apart."""
    groups: dict[tuple[object, ...], list[OrderStory]] = {}
    firsts: dict[tuple[object, ...], OrderStory] = {}
    for story in case.sent:
        if story.customers:
            looks = (story.tenant, story.amount_minor, story.currency, *sorted(story.customers))
            first = firsts.setdefault(looks, story)
            if first is not story:
                groups.setdefault(looks, [first]).append(story)
    return list(groups.values())


def _one_for_two(case: Case) -> Iterator[Violation]:
    """Report every order that was answered with the charge of an earlier one."""
    names: dict[tuple[str | None, str, str], tuple[OrderStory, Attempt]] = {}
    for story in case.sent:
        for attempt in story.attempts:
            if attempt.outcome == "ok" and (found := _anothers(names, story, attempt)):
                yield found
                break


def _anothers(
    names: dict[tuple[str | None, str, str], tuple[OrderStory, Attempt]],
    story: OrderStory,
    attempt: Attempt,
) -> Violation | None:
    """Enter what a success was called, by the provider and by the service; report a name in use."""
    assert attempt.answer is not None
    for kind, name in (
        ("provider", attempt.answer.provider_charge),
        ("service", attempt.answer.charge),
    ):
        if not name:
            continue
        first, told = names.setdefault((story.tenant, kind, name), (story, attempt))
        # One key for two orders is another body under a known key, and another claim's.
        if first is not story and told.key != attempt.key and not story.real_charges:
            return _violation(
                story,
                f"{first.order} and {story.order} were both answered with {name}, and "
                f"{story.order} was never charged",
                [first, story],
            )
    return None


def _too_few(group: list[OrderStory], paid: list[OrderStory], real: int) -> Violation:
    missing = next(story for story in paid if not story.real_charges)
    return _violation(
        missing,
        f"{len(paid)} equal orders were told ok and {real} charged: {missing.order} was not",
        [*[story for story in group if story.real_charges][:1], missing],
    )


def _success(story: OrderStory) -> Attempt | None:
    return next((attempt for attempt in story.attempts if attempt.outcome == "ok"), None)


def _violation(story: OrderStory, says: str, shown: list[OrderStory]) -> Violation:
    boundary, cause = _where(story, shown[0])
    pieces = [of_attempt(attempt) for each in shown if (attempt := _success(each))]
    pieces += [of_charge(charge) for each in shown for charge in each.real_charges]
    return Violation(
        order=story.order,
        says=says,
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)[:_SHOWN]),
        boundary=boundary,
        guard=_GUARD,
        cause=cause,
        at_risk_minor=story.amount_minor,
        currency=story.currency,
    )


def _where(story: OrderStory, first: OrderStory) -> tuple[Boundary, str]:
    """Tell a provider key that both shared from a service that never asked the provider."""
    shared = next((c for c in first.calls if c.order == story.order and c.replayed), None)
    if shared:
        return API_TO_PROVIDER, f"both were sent under the provider key {shared.key}"
    return CLIENT_TO_API, "the second purchase was taken for a repetition of the first"
