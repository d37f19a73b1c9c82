"""Ties every charge at the provider to the order it was made for, and says how it knew.

Rule 1: identity is planted, not guessed: the reference, wherever it stands in the call, then the
        customer, then an amount that only one order ever had, then exclusion (no other order
        could have caused it).
Rule 2: a clue that fits two orders ties nothing; the next rule is asked.
Rule 3: orders made alike on purpose, with one customer and one amount, are a group: its charges
        are dealt out in the way that speaks best for the service, and one too many is one order's.
Rule 4: what stays untied is listed. A verdict that overlooks a charge is worth nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal

import msgspec

TieRule = Literal["reference", "customer", "amount", "group", "exclusion"]

HOW_TO_TIE: Final = (
    "have the service send {order} to the provider as a reference or in its metadata, or give "
    "every order an amount of its own"
)
"""What to do about charges that nothing ties."""


@dataclass(frozen=True, slots=True)
class Clues:
    """What a charge shows of its order. ``references`` are tried in turn; ``at`` is its place.

    ``mentions`` are texts of the call in which the reference may stand among other words.
    """

    charge: str
    at: int
    amount_minor: int
    currency: str
    references: tuple[str, ...] = ()
    customer: str | None = None
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planted:
    """What an order may be known by: everything that was ever sent for it.

    ``opened_at`` and ``closed_at`` are the places in the history between which it could cause a
    charge; an order whose outcome stayed unknown never closes. ``told_ok`` says that a client was
    told of a success, ``named`` which charges at the provider the answers spoke of.
    """

    order: str
    customers: frozenset[str] = frozenset()
    amounts: frozenset[tuple[int, str]] = frozenset()
    opened_at: int | None = None
    closed_at: int | None = None
    told_ok: bool = False
    named: frozenset[str] = frozenset()


class Tie(msgspec.Struct, frozen=True, gc=False):
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
    dealt: dict[str, list[str]] = {}
    untied = []
    for clues in charges:
        if tie := book.tie(clues):
            ties[clues.charge] = tie
        elif (group := book.group_of(clues)) is not None:
            dealt.setdefault(group, []).append(clues.charge)
        else:
            untied.append(clues.charge)
    for group, of_the_group in dealt.items():
        ties |= _deal(book.groups[group], of_the_group)
    return Attribution(ties, tuple(untied))


_AMBIGUOUS: Final = ""  # no order is called so: a reference is never empty
_WORD: Final = re.compile(r"[\w.:~-]+")


@dataclass(slots=True)
class _Book:
    """The orders, by each thing they may be known by.

    A group goes by the name of its first order.
    """

    orders: set[str] = field(default_factory=set)
    by_customer: dict[str, str] = field(default_factory=dict)
    by_amount: dict[tuple[int, str], str] = field(default_factory=dict)
    groups: dict[str, list[Planted]] = field(default_factory=dict)
    group_by_customer: dict[str, str] = field(default_factory=dict)
    group_by_amount: dict[tuple[int, str], str] = field(default_factory=dict)
    alone: list[Planted] = field(default_factory=list)

    @classmethod
    def of(cls, orders: Iterable[Planted]) -> "_Book":
        orders = list(orders)
        book = cls()
        leaders: dict[tuple[frozenset[str], frozenset[tuple[int, str]]], str] = {}
        for planted in orders:
            leader = leaders.setdefault((planted.customers, planted.amounts), planted.order)
            if not (planted.customers and planted.amounts):
                leader = planted.order  # nothing is known of it: that makes it like nobody
            book.orders.add(planted.order)
            book.groups.setdefault(leader, []).append(planted)
            for customer in planted.customers:
                _enter(book.by_customer, customer, planted.order)
                _enter(book.group_by_customer, customer, leader)
            for amount in planted.amounts:
                _enter(book.by_amount, amount, planted.order)
                _enter(book.group_by_amount, amount, leader)
        book.alone = _alone(orders)
        return book

    def tie(self, clues: Clues) -> Tie | None:
        if order := self._named_in(clues):
            return Tie(order, "reference")
        if clues.customer is not None and (order := self.by_customer.get(clues.customer)):
            return Tie(order, "customer")
        if order := self.by_amount.get((clues.amount_minor, clues.currency)):
            return Tie(order, "amount")
        if order := self._only_one_open(clues.at):
            return Tie(order, "exclusion")
        return None

    def group_of(self, clues: Clues) -> str | None:
        """Return the group of look-alikes that a charge can only belong to, if there is one."""
        if clues.customer is not None and (group := self.group_by_customer.get(clues.customer)):
            return group
        return self.group_by_amount.get((clues.amount_minor, clues.currency)) or None

    def _named_in(self, clues: Clues) -> str | None:
        for reference in clues.references:
            if reference in self.orders:
                return reference
        words = {word for text in clues.mentions for word in (text, *_WORD.findall(text))}
        named = words & self.orders
        return named.pop() if len(named) == 1 else None

    def _only_one_open(self, at: int) -> str | None:
        place = bisect_right(self.alone, float(at), key=_opened) - 1
        if place < 0:
            return None
        planted = self.alone[place]
        return planted.order if at <= _closed(planted) else None


def _deal(group: list[Planted], charges: list[str]) -> dict[str, Tie]:
    """Deal charges out: first to whom an answer named, then to whom success was told, then on.

    What is left when everybody has one is the first one's too.
    """
    waiting = sorted(group, key=lambda planted: (not planted.told_ok, _opened(planted)))
    first = waiting[0]
    ties = {}
    for charge in sorted(charges, key=lambda c: all(c not in planted.named for planted in group)):
        owner = next((planted for planted in waiting if charge in planted.named), None)
        if owner is None:
            owner = waiting[0] if waiting else first
        if owner in waiting:
            waiting.remove(owner)
        ties[charge] = Tie(owner.order, "group")
    return ties


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
