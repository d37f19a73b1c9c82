"""No tenant is shown or charged through another's charge, and its keys are its own.

The same key of two tenants is two keys: each gets its own charge and its own answer. A charge of
another tenant is never named in an answer, and nobody can read it or give it back.
"""

from collections.abc import Iterator
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_attempt, of_charge, three_sides
from onecharge.history.judgement import CLIENT_TO_API, Judgement, Violation
from onecharge.history.story import Attempt, OrderStory

NEEDS: Final = frozenset({"tenants"})
RANK: Final = 20

_GUARD: Final = (
    "make the tenant a part of the key's unique index and of every look-up, taken from the "
    "caller's credentials and never from the request"
)
_LET_IN: Final = frozenset({"ok", "pending", "declined"})


def judge(case: Case) -> Judgement:
    """Look at keys that several tenants used, and at everybody who was told of a charge."""
    if len({story.tenant for story in case.orders.values()}) < 2 and not _strangers(case):
        return Judgement.of(judged=0)
    shared = _shared_keys(case)
    owners = _owners(case)
    judged = 0
    violations: list[Violation] = []
    for story in case.orders.values():
        own = [a for a in story.attempts if a.key in shared]
        strangers = [a for a in story.others if a.variant == "other_tenant"]
        judged += bool(own) + len(strangers)
        found = next(_shown(story, owners), None) or next(_let_in(story, strangers), None)
        if found is None:
            found = next(_in_the_way(story, own, shared), None)
        if found:
            violations.append(found)
    return Judgement.of(judged=judged, violations=violations)


def at_once(case: Case, story: OrderStory) -> Violation | None:
    """Report who was let in, or told the provider's name of a charge of another tenant.

    What only the service's own names and keys of two tenants show is told at the end.
    """
    owners: dict[str, OrderStory] = {}
    for answer in story.answers:
        charge = case.charges.get(answer.provider_charge or "")
        owner = case.orders.get((charge and charge.order) or "")
        if charge and owner and owner.tenant != story.tenant:
            owners[charge.id] = owner
    strangers = [attempt for attempt in story.others if attempt.variant == "other_tenant"]
    return next(_shown(story, owners), None) or next(_let_in(story, strangers), None)


def _strangers(case: Case) -> bool:
    """Whether anybody asked about another tenant's order."""
    stories = (story for story in case.orders.values() if story.others)
    return any(asked.variant == "other_tenant" for story in stories for asked in story.others)


def _shared_keys(case: Case) -> dict[str, dict[str | None, Attempt]]:
    """Return the keys that several tenants used, with each one's first request."""
    firsts: dict[str, dict[str | None, Attempt]] = {}
    for story in case.sent:
        for attempt in story.attempts:
            if attempt.key is not None:
                firsts.setdefault(attempt.key, {}).setdefault(attempt.tenant, attempt)
    return {key: tenants for key, tenants in firsts.items() if len(tenants) > 1}


def _owners(case: Case) -> dict[str, OrderStory]:
    """Return whose every charge is: by the provider's name for it, and by the service's.

    The service's name belongs to whoever was first told of it.
    """
    owners: dict[str, OrderStory] = {}
    told: dict[str, tuple[int, OrderStory]] = {}
    for story in case.orders.values():
        for charge in story.charges:
            owners |= dict.fromkeys(charge.names, story)
        for answer in story.answers:
            if answer.charge and answer.index < told.get(answer.charge, (answer.index + 1,))[0]:
                told[answer.charge] = answer.index, story
    return {name: story for name, (_, story) in told.items()} | owners


def _shown(story: OrderStory, owners: dict[str, OrderStory]) -> Iterator[Violation]:
    for attempt in story.attempts:
        answer = attempt.answer
        for name in () if answer is None else (answer.provider_charge, answer.charge):
            owner = owners.get(name or "")
            if owner and owner.tenant != attempt.tenant:
                yield _violation(
                    story,
                    attempt,
                    owner,
                    f"{story.order} of {attempt.tenant} was answered with {name}, a charge of "
                    f"{owner.tenant}",
                    "a stored answer is found by its key alone",
                )


def _let_in(story: OrderStory, strangers: list[Attempt]) -> Iterator[Violation]:
    for attempt in strangers:
        if attempt.outcome in _LET_IN:
            verb = {"refund": "give back", "capture": "capture"}.get(attempt.operation, "read")
            yield _violation(
                story,
                attempt,
                story,
                f"{attempt.tenant} could {verb} {story.order} of {story.tenant}",
                "a charge is looked up by its id alone",
            )


def _in_the_way(
    story: OrderStory, own: list[Attempt], shared: dict[str, dict[str | None, Attempt]]
) -> Iterator[Violation]:
    for attempt in own:
        firsts = shared[attempt.key or ""]
        before = [first for first in firsts.values() if first.invoked < attempt.invoked]
        theirs = next((first for first in before if first.tenant != attempt.tenant), None)
        refused = attempt.outcome == "mismatch" and not attempt.other_body
        if refused and theirs and firsts[attempt.tenant] is attempt:
            yield _violation(
                story,
                attempt,
                story,
                f"{story.order} of {attempt.tenant} was refused because {theirs.tenant} had used "
                f"the key {attempt.key}",
                "one tenant's key stands in another's way",
            )


def _violation(
    story: OrderStory, attempt: Attempt, owner: OrderStory, says: str, cause: str
) -> Violation:
    pieces = {of_attempt(attempt), *three_sides(story, answer=attempt.answer)}
    pieces.update(of_charge(charge) for charge in owner.real_charges[:1])
    return Violation(
        order=story.order,
        says=says,
        evidence=tuple(sorted(pieces, key=lambda piece: piece.index)),
        boundary=CLIENT_TO_API,
        guard=_GUARD,
        cause=cause,
        at_risk_minor=story.amount_minor,
        currency=story.currency,
    )
