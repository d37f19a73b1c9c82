"""Who pays, and by what: customers and their payment methods.

Rule 1: a method is a test method: it says itself what the bank will say when it is charged.
Rule 2: both are values; a change is a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Face:
    """A kind of method, as it looks and as it behaves.

    ``declines`` is the bank's code whenever it is charged; ``clings`` is False for a method that
    cannot even be attached to a customer. With ``settles_s`` the bank answers that much later.
    """

    kind: str
    looks: Mapping[str, Any] = field(default_factory=dict)
    declines: str | None = None
    clings: bool = True
    settles_s: float | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A means of payment that an account knows, its own or a customer's."""

    id: str
    account: str
    face: Face
    created_s: float
    customer: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    billing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return self.face.kind

    @property
    def reference(self) -> str | None:
        """No order: a method serves many."""
        return None


@dataclass(frozen=True, slots=True)
class Customer:
    """Somebody who pays. ``profile`` is what the merchant said and only the API repeats."""

    id: str
    account: str
    created_s: float
    email: str | None = None
    profile: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    deleted: bool = False

    @property
    def reference(self) -> str | None:
        """No order: a customer has many."""
        return None
