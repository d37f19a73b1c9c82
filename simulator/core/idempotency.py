"""Idempotency keys: what a provider promises about them, and what it remembers.

Rule 1: providers really differ; every difference is a field of ``KeyPolicy``, not an ``if``.
Rule 2: a lookup changes nothing. ``claim``, ``store`` and ``release`` are the only writes.
Rule 3: a key in flight never expires; the others do, ``retention_s`` after their claim.
"""

import re
from dataclasses import dataclass
from typing import Literal, assert_never

from simulator.core.calls import Call
from simulator.core.messages import HttpReply

Scope = Literal["account", "account_and_operation", "everyone"]
Stored = Literal["all", "2xx", "non_5xx", "nothing"]


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """A provider's documented behaviour with keys.

    ``heeded_for`` are the operations where a key counts, ``required_for`` those that are refused
    without one. ``stored`` says which outcomes are bound to the key once execution began; the
    others set it free. ``mismatch`` is what another request under a known key meets.
    """

    heeded_for: frozenset[str]
    required_for: frozenset[str] = frozenset()
    pattern: str = r"[\x20-\x7e]+"
    max_length: int = 255
    scope: Scope = "account"
    retention_s: float = 86_400.0
    stored: Stored = "all"
    mismatch: Literal["refuse", "replay"] = "refuse"

    def objection(self, operation: str, key: str | None) -> str | None:
        """Return ``key_missing`` or ``key_invalid`` if this key will not do, else nothing."""
        if operation not in self.heeded_for:
            return None
        if key is None:
            return "key_missing" if operation in self.required_for else None
        if len(key) > self.max_length or re.fullmatch(self.pattern, key) is None:
            return "key_invalid"
        return None

    def stores(self, status: int) -> bool:
        """Tell whether an outcome of this HTTP status is bound to the key."""
        match self.stored:
            case "all":
                return True
            case "2xx":
                return 200 <= status < 300
            case "non_5xx":
                return status < 500
            case "nothing":
                return False
            case _:
                assert_never(self.stored)

    def slot(self, call: Call) -> "Slot":
        """Return the place in the store that this call's key has."""
        match self.scope:
            case "account":
                return (call.account, "", call.key or "")
            case "account_and_operation":
                return (call.account, call.operation, call.key or "")
            case "everyone":
                return ("", "", call.key or "")
            case _:
                assert_never(self.scope)


Slot = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Fresh:
    """Never seen."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """Begun by this call, outcome not recorded."""

    call: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Done: this was the answer, about this charge."""

    reply: HttpReply
    charge: str | None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Known, but with another request."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Known once; so long ago that the provider has promised to forget it."""


Lookup = Fresh | InFlight | Replay | Mismatch | Expired


@dataclass(slots=True)
class _Claim:
    call: str
    fingerprint: str
    since_s: float
    answer: Replay | None = None


class KeyStore:
    """What the provider remembers of keys."""

    def __init__(self, policy: KeyPolicy) -> None:
        self.policy = policy
        self._claims: dict[Slot, _Claim] = {}

    def lookup(self, call: Call, now: float) -> Lookup:
        """Tell what is known of this call's key."""
        claim = self._claims.get(self.policy.slot(call))
        if claim is None:
            return Fresh()
        if claim.answer is not None and now >= claim.since_s + self.policy.retention_s:
            return Expired()
        if claim.fingerprint != call.fingerprint and self.policy.mismatch == "refuse":
            return Mismatch()
        return claim.answer or InFlight(claim.call)

    def claim(self, call: Call, now: float) -> None:
        """Bind the key to this call, from now until it is stored or released."""
        self._claims[self.policy.slot(call)] = _Claim(call.id, call.fingerprint, now)

    def store(self, call: Call, reply: HttpReply, charge: str | None) -> None:
        """Bind the answer to the key, so that every replay repeats it.

        It may be replaced by the call that stored it, unless another has claimed the key since.
        """
        claim = self._claims[self.policy.slot(call)]
        if claim.call == call.id:
            claim.answer = Replay(reply, charge)

    def release(self, call: Call) -> None:
        """Forget the key, because nothing happened under it."""
        del self._claims[self.policy.slot(call)]
