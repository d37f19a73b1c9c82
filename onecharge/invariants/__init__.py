"""What is claimed of a charge service: one file each, found by looking into this folder.

A file is an invariant. Its name is the public name, its docstring opens with the claim, in one
sentence; ``NEEDS`` names the capabilities without which there is nothing to judge; ``RANK`` says
how early it is told of (the smaller the earlier: money before truth before books before
waiting); ``judge`` takes a case and returns a judgement. A new file is found without any other
edit.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from onecharge.history.case import Case
from onecharge.history.judgement import Judgement

_LAST = 1_000


@dataclass(frozen=True, slots=True)
class Invariant:
    """A claim and how it is judged."""

    name: str
    claim: str
    needs: frozenset[str]
    rank: int
    judge: Callable[[Case], Judgement]


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
    )
