"""What is claimed of a charge service: one file each, found by looking into this folder.

A file is an invariant. Its name is the public name, its docstring opens with the claim, in one
sentence; ``NEEDS`` names the capabilities without which there is nothing to judge; ``RANK`` says
how early it is told of (the smaller the earlier: money before truth before books before
waiting); ``ALWAYS`` says that every run puts it to the test, so that a run in which it found
nothing to judge is *unknown*; ``ORDER_FREE`` says that it can be judged where records of several
hosts have no common order; ``judge`` takes a case and returns a judgement. A new file is found
without any other edit.

Where a claim can be seen to be broken before the end, its file offers ``at_once`` as well: what is
wrong with one order by now, as far as nothing that is yet to come can make it right. It looks at
that order alone, so that a record costs the same however long the history is; and what it reports,
``judge`` reports at the end. A file without it says in its first lines what has to be waited for.

One mistake often breaks several claims; the first in rank is its headline. Where two are close:

| what was seen                                   | is told by                  |
|-------------------------------------------------|-----------------------------|
| a second charge for one order or key            | one_charge_per_key          |
| *ok* for another body under a known key         | mismatches_move_no_money    |
| one key, two different names of the one charge  | replays_are_faithful        |
| a charge begun before *declined* was said       | answers_tell_the_truth      |
| a charge begun after it                         | no_zombie_charge            |
| money given back that nobody asked for          | refunds_never_exceed        |
| the credits of an order, in number and in sum   | one_effect_per_event        |
| refunds, and the totals of a run                | books_agree                 |
| an order or an event that never comes to an end | every_order_settles         |
| a known event that is refused for ever          | duplicates_are_acknowledged |
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from onecharge.history.case import Case
from onecharge.history.judgement import Judgement, Violation
from onecharge.history.story import OrderStory

_LAST = 1_000


@dataclass(frozen=True, slots=True)
class Invariant:
    """A claim and how it is judged."""

    name: str
    claim: str
    needs: frozenset[str]
    rank: int
    judge: Callable[[Case], Judgement]
    at_once: Callable[[Case, OrderStory], Violation | None] | None = None
    always: bool = False
    order_free: bool = False


@cache
def invariants() -> tuple[Invariant, ...]:
    """Return all invariants, in the order in which they are told of."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    found = (_invariant(importlib.import_module(f"{__name__}.{name}")) for name in names)
    return tuple(sorted(found, key=lambda invariant: (invariant.rank, invariant.name)))


def _invariant(module: ModuleType) -> Invariant:
    return Invariant(
        name=module.__name__.rpartition(".")[2],
        claim=str(module.__doc__).partition("\n\n")[0].replace("\n", " ").strip(),
        needs=getattr(module, "NEEDS", frozenset()),
        rank=getattr(module, "RANK", _LAST),
        judge=module.judge,
        at_once=getattr(module, "at_once", None),
        always=getattr(module, "ALWAYS", False),
        order_free=getattr(module, "ORDER_FREE", False),
    )
