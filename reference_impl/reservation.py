"""Claiming a key, as values: what is asked, for how long, and the answers.

Rule 1: there is one owner at a time. Everybody else is told what is the case.
"""

from dataclasses import dataclass
from datetime import datetime

from reference_impl.operation import Change, Intent, Kind, Operation


@dataclass(frozen=True, slots=True)
class Reservation:
    """An operation about to be reserved: all that is known before the provider is called."""

    id: str
    kind: Kind
    tenant: str
    key: str
    asked: Intent | Change
    upstream_key: str
    invoice: str | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """From when until when somebody works on an operation."""

    now: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Owned:
    """The operation is ours to work on until the lease ends."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Settled:
    """The key has its final answer."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class InFlight:
    """Somebody else works on it right now."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key belongs to another intent."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The charge cannot be changed like this now; nothing is reserved, the key stays free."""

    status: int
    code: str
    detail: str
    retry_after_s: int | None = None


Reserved = Owned | Settled | InFlight | Mismatch | Refused
