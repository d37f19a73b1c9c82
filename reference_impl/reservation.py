"""Claiming a client key, as values: what is asked, for how long, and the four answers.

Rule 1: there is one owner at a time. Everybody else is told what is the case.
"""

from dataclasses import dataclass
from datetime import datetime

from reference_impl.charge import Charge, Intent


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge about to be reserved: all that is known before the provider is called."""

    id: str
    tenant: str
    key: str
    intent: Intent
    upstream_key: str


@dataclass(frozen=True, slots=True)
class Lease:
    """From when until when somebody works on a charge."""

    now: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Owned:
    """The charge is ours to work on until the lease ends."""

    charge: Charge


@dataclass(frozen=True, slots=True)
class Settled:
    """The key has its final answer."""

    charge: Charge


@dataclass(frozen=True, slots=True)
class InFlight:
    """Somebody else works on it right now."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key belongs to another intent."""


Reserved = Owned | Settled | InFlight | Mismatch
