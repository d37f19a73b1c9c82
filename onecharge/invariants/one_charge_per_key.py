"""No idempotency key of a client and no order ever has more than one real charge.

Judged on the provider's ledger alone: a service can charge three times and return the same body
three times. A key used for a second order is judged where no other key could explain the charges.
Once its documented retention is over, a key is a new one. An order that was sent under a new key on
purpose may be charged once for each key that did not fail for certain, unless the service claims
``one_charge_per_order``.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from onecharge.history.boundaries import open_boundary
from onecharge.history.case import Case
from onecharge.history.evidence import of_charge, three_sides
from onecharge.history.judgement import CLIENT_TO_API, GUARDS, Judgement, Violation, money
from onecharge.history.story import Charge, OrderStory

RANK: Final = 10
ALWAYS: Final = True
ORDER_FREE: Final = True

_SHOWN = 4
_PER_ORDER: Final = "one_charge_per_order"
_FAILED: Final = frozenset({"declined", "invalid", "mismatch", "refused"})


def judge(case: Case) -> Judgement:
    """Count the real charges of every order and every key."""
    violations = [*_orders(case), *_keys(case), *_pigeonhole(case)]
    reasons = [
        f"{charge.id} ({money(charge.captured_minor, charge.currency)}) cannot be tied to an order"
        for charge in islice(case.unattributed, _SHOWN)
    ]
    judged = sum(bool(story.charges) for story in case.sent)
    return Judgement.of(judged=judged, violations=violations, reasons=reasons)


def at_once(case: Case, story: OrderStory) -> Violation | None:
    """Report an order with more real charges than the keys that it had been sent under allow."""
    if len(story.real_charges) < 2 or not (real := _too_many(case, story)):
        return None
    boundary, cause = open_boundary(story, real[0], real[1], case.calls, case.crashes)
    return Violation(
        order=story.order,
        says=f"{story.order} was charged {len(real)} times: {_listed(real)}",
        evidence=three_sides(story),
        boundary=boundary,
        guard=GUARDS[boundary],
        cause=cause,
        at_risk_minor=_beyond_the_first(real),
        currency=real[0].currency,
    )


def _orders(case: Case) -> Iterator[Violation]:
    for story in case.orders.values():
        if len(story.real_charges) > 1 and (found := at_once(case, story)):
            yield found


def _too_many(case: Case, story: OrderStory) -> list[Charge]:
    """Return the charges of the first life of its key in which there were more than allowed."""
    lives: dict[int, list[Charge]] = {}
    for charge in story.real_charges:
        lives.setdefault(case.life_at(charge.created, story), []).append(charge)
    for life, real in lives.items():
        counted = enumerate(real, start=1)
        if any(number > _allowed(case, story, life, charge) for number, charge in counted):
            return real
    return []


def _allowed(case: Case, story: OrderStory, life: int, last: Charge) -> int:
    """Return how often the order may have been charged by its ``last`` charge of a life."""
    sent = [
        attempt
        for attempt in story.attempts
        if case.life_at(attempt.invoked, story) == life
        and (case.hosts or attempt.invoked < last.created)  # a key that comes later excuses nothing
    ]
    if _PER_ORDER in case.run.claims or all(attempt.variant != "new_key" for attempt in sent):
        return 1
    return max(1, len({attempt.key for attempt in sent if attempt.outcome not in _FAILED}))


def _keys(case: Case) -> Iterator[Violation]:
    """Look at the keys that were used for several orders, each of them for nothing else."""
    firsts: dict[tuple[str | None, str, int], OrderStory] = {}
    shared: dict[tuple[str | None, str, int], list[OrderStory]] = {}
    for story in case.sent:
        if (key := _only_key(story)) is not None:
            use = story.tenant, key, case.life_at(story.attempts[0].invoked, story)
            first = firsts.setdefault(use, story)
            if first is not story:
                shared.setdefault(use, [first]).append(story)
    for (_, key, _), sharing in shared.items():
        real = [charge for story in sharing for charge in story.real_charges[:1]]
        if len(real) > 1:
            yield Violation(
                order=real[1].order,
                says=f"key {key} charged {len(real)} orders: {_listed(real)}",
                evidence=tuple(of_charge(charge) for charge in real[:_SHOWN]),
                boundary=CLIENT_TO_API,
                guard=GUARDS[CLIENT_TO_API],
                cause="the same key with another body was executed instead of refused",
                at_risk_minor=_beyond_the_first(real),
                currency=real[0].currency,
            )


def _only_key(story: OrderStory) -> str | None:
    """Return the one key that an order was ever sent under."""
    attempts = story.attempts
    if len(attempts) == 1:  # as most are
        return attempts[0].key
    keys = story.keys
    return keys[0] if len(keys) == 1 else None


def _pigeonhole(case: Case) -> Iterator[Violation]:
    """More charges than orders is one too many, whoever they belong to."""
    real, sent = case.real_charges, len(case.sent)
    if case.unattributed and len(real) > sent:
        yield Violation(
            order=None,
            says=f"{len(real)} real charges for {sent} orders: {_listed(real)}",
            evidence=tuple(of_charge(charge) for charge in case.unattributed[:_SHOWN]),
            boundary=CLIENT_TO_API,
            guard=GUARDS[CLIENT_TO_API],
            cause="there are more charges than orders; which order paid twice cannot be told",
            at_risk_minor=sum(charge.captured_minor for charge in real[sent:]),
            currency=real[-1].currency,
        )


def _listed(charges: Sequence[Charge]) -> str:
    names = [f"{c.id} ({money(c.captured_minor, c.currency)})" for c in charges[:_SHOWN]]
    more = len(charges) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _beyond_the_first(charges: Sequence[Charge]) -> int:
    return sum(charge.captured_minor for charge in charges[1:])
