"""Ties every charge at the provider to the order it was made for, and says how it knew.

Rule 1: identity is planted, not guessed: reference, then customer, then an amount that only one
        order ever had, then exclusion (no other order could have caused it).
Rule 2: a clue that fits two orders ties nothing; the next rule is asked.
Rule 3: what stays untied is listed. A verdict that overlooks a charge is worth nothing.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

TieRule = Literal["reference", "customer", "amount", "exclusion"]


@dataclass(frozen=True, slots=True)
class Clues:
    """What a charge shows of its order. ``references`` are tried in turn; ``at`` is its place."""

    charge: str
    at: int
    amount_minor: int
    currency: str
    references: tuple[str, ...] = ()
    customer: str | None = None


@dataclass(frozen=True, slots=True)
class Planted:
    """What an order may be known by: everything that was ever sent for it.

    ``opened_at`` and ``closed_at`` are the places in the history between which it could cause a
    charge; an order whose outcome stayed unknown never closes.
    """

    order: str
    customers: frozenset[str] = frozenset()
    amounts: frozenset[tuple[int, str]] = frozenset()
    opened_at: int | None = None
    closed_at: int | None = None


@dataclass(frozen=True, slots=True)
class Tie:
    """The charge belongs to this order, by this rule."""

    order: str
    rule: TieRule


@dataclass(frozen=True, slots=True)
class Attribution:
    """All ties, and the charges that could not be tied."""

    ties: Mapping[str, Tie]
    untied: tuple[str, ...]

    def counts(self) -> dict[TieRule, int]:
        """Return how many charges each rule has tied."""
        counts: dict[TieRule, int] = {}
        for tie in self.ties.values():
            counts[tie.rule] = counts.get(tie.rule, 0) + 1
        return counts


def attribute(charges: Iterable[Clues], orders: Iterable[Planted]) -> Attribution:
    """Tie each charge to one order, or leave it untied."""
    book = _Book.of(orders)
    ties: dict[str, Tie] = {}
    untied = []
    for clues in charges:
        if tie := book.tie(clues):
            ties[clues.charge] = tie
        else:
            untied.append(clues.charge)
    return Attribution(ties, tuple(untied))


_AMBIGUOUS = ""  # no order is called so: a reference is never empty


@dataclass(slots=True)
class _Book:
    """The orders, by each thing they may be known by."""

    orders: set[str] = field(default_factory=set)
    by_customer: dict[str, str] = field(default_factory=dict)
    by_amount: dict[tuple[int, str], str] = field(default_factory=dict)
    alone: list[Planted] = field(default_factory=list)

    @classmethod
    def of(cls, orders: Iterable[Planted]) -> "_Book":
        orders = list(orders)
        book = cls()
        for planted in orders:
            book.orders.add(planted.order)
            for customer in planted.customers:
                _enter(book.by_customer, customer, planted.order)
            for amount in planted.amounts:
                _enter(book.by_amount, amount, planted.order)
        book.alone = _alone(orders)
        return book

    def tie(self, clues: Clues) -> Tie | None:
        for reference in clues.references:
            if reference in self.orders:
                return Tie(reference, "reference")
        if clues.customer is not None and (order := self.by_customer.get(clues.customer)):
            return Tie(order, "customer")
        if order := self.by_amount.get((clues.amount_minor, clues.currency)):
            return Tie(order, "amount")
        if order := self._only_one_open(clues.at):
            return Tie(order, "exclusion")
        return None

    def _only_one_open(self, at: int) -> str | None:
        place = bisect_right(self.alone, float(at), key=_opened) - 1
        if place < 0:
            return None
        planted = self.alone[place]
        return planted.order if at <= _closed(planted) else None


def _enter(book: dict[Any, str], clue: Any, order: str) -> None:
    book[clue] = order if book.get(clue, order) == order else _AMBIGUOUS


def _alone(orders: Iterable[Planted]) -> list[Planted]:
    """Return, in order of opening, those whose whole span no other order shares."""
    opened = sorted((o for o in orders if o.opened_at is not None), key=_opened)
    alone = []
    busy_until: float = -1
    for place, planted in enumerate(opened):
        after = _opened(opened[place + 1]) if place + 1 < len(opened) else inf
        if busy_until < _opened(planted) and (_closed(planted) < after or after == inf):
            alone.append(planted)
        busy_until = max(busy_until, _closed(planted))
    return alone


def _opened(planted: Planted) -> float:
    return inf if planted.opened_at is None else planted.opened_at


def _closed(planted: Planted) -> float:
    return inf if planted.closed_at is None else planted.closed_at
