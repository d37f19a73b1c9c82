"""The classes a service is put together from; a mutant replaces one of them.

A mutant is a file in ``mutants/`` with one class ``Mutant``. It subclasses the part whose
guard it breaks, and the service is built with it in that part's place.
"""

import importlib
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

from reference_impl.app import Desk
from reference_impl.charging import Charging
from reference_impl.inbox import Inbox
from reference_impl.reconciler import Reconciler
from reference_impl.store import Store

MUTANTS: Final = Path(__file__).parent / "mutants"


class NoSuchMutantError(Exception):
    """The name is not that of a mutant; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the service is made of."""

    store: type[Store] = Store
    charging: type[Charging] = Charging
    inbox: type[Inbox] = Inbox
    reconciler: type[Reconciler] = Reconciler
    desk: type[Desk] = Desk


def parts(mutant: str) -> Parts:
    """Return the parts of the service that is right, or of the one with this guard broken."""
    if not mutant:
        return Parts()
    if mutant not in mutants():
        known = ", ".join(mutants())
        raise NoSuchMutantError(f"REFERENCE_MUTANT: no mutant {mutant!r}; there are {known}")
    broken = importlib.import_module(f"reference_impl.mutants.{mutant}").Mutant
    right = Parts()
    replaced = {
        field.name: broken if issubclass(broken, getattr(right, field.name)) else part
        for field in fields(right)
        for part in [getattr(right, field.name)]
    }
    return Parts(**replaced)


def mutants() -> list[str]:
    """Return the names of all mutants: those of their files."""
    return sorted(path.stem for path in MUTANTS.glob("*.py") if re.match("[a-z]", path.stem))
