"""No idempotency key of a client and no order ever has more than one real charge.

Judged on the provider's ledger alone: a service can charge three times and return the same body
three times. A key used for a second order is judged where no other key could explain the charges.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from onecharge.history.boundaries import open_boundary
from onecharge.history.case import Case
from onecharge.history.evidence import of_charge, three_sides
from onecharge.history.judgement import CLIENT_TO_API, GUARDS, Judgement, Violation, money
from onecharge.history.story import Charge, OrderStory

RANK: Final = 1

_SHOWN = 4


def judge(case: Case) -> Judgement:
    """Count the real charges of every order and every key."""
    violations = [*_orders(case), *_keys(case), *_pigeonhole(case)]
    reasons = [
        f"{charge.id} ({money(charge.captured_minor, charge.currency)}) cannot be tied to an order"
        for charge in islice(case.unattributed, _SHOWN)
    ]
    judged = sum(bool(story.charges) for story in case.sent)
    return Judgement.of(judged=judged, violations=violations, reasons=reasons)


def _orders(case: Case) -> Iterator[Violation]:
    for story in case.orders.values():
        real = story.real_charges
        if len(real) > 1:
            boundary, cause = open_boundary(story, real[0], real[1], case.calls, case.crashes)
            yield Violation(
                order=story.order,
                says=f"{story.order} was charged {len(real)} times: {_listed(real)}",
                evidence=three_sides(story),
                boundary=boundary,
                guard=GUARDS[boundary],
                cause=cause,
                at_risk_minor=_beyond_the_first(real),
                currency=real[0].currency,
            )


def _keys(case: Case) -> Iterator[Violation]:
    """Look at the keys that were used for several orders, each of them for nothing else."""
    stories: dict[tuple[str | None, str], list[OrderStory]] = defaultdict(list)
    for story in case.sent:
        if len(story.keys) == 1:
            stories[story.tenant, story.keys[0]].append(story)
    for (_, key), sharing in stories.items():
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
