"""Idempotency keys: what a provider promises about them, and what it remembers.

Rule 1: providers really differ; every difference is a field of ``KeyPolicy``, not an ``if``.
Rule 2: a lookup changes nothing. ``claim``, ``store`` and ``release`` are the only writes.
Rule 3: a key in flight never expires; the others do, ``retention_s`` after their claim, and are
        forgotten when the next key is claimed.
"""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, assert_never

from simulator.core.calls import Call
from simulator.core.messages import HttpReply
from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.results import Result

Scope = Literal["account", "account_and_operation", "company", "everyone"]
Stored = Literal["all", "2xx", "non_5xx", "nothing"]
ReplayForm = Literal["as_stored", "current_state", "conflict"]


@dataclass(frozen=True, slots=True)
class InHeader:
    """The key stands in a header; with ``quoted``, also as a structured field's string."""

    name: str = "idempotency-key"
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class InBody:
    """The key stands in a field of the body; ``path`` leads to it from the outside in."""

    path: tuple[str, ...] = ("idempotency_key",)


@dataclass(frozen=True, slots=True)
class Nowhere:
    """There are no keys: every call is a call of its own."""


Place = InHeader | InBody | Nowhere


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a problem, which the dialect puts into words.

    The dialect knows its status too, unless this says another. ``headers`` come on top.
    """

    code: str
    status: int | None = None
    retry_after_s: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BusinessKey:
    """The merchant's own order is a key as well, whatever other key comes with it.

    A new charge is a repetition if ``within_s`` earlier the account has made one for the same
    order that was neither declined nor cancelled, and if ``alike`` are equal too. It is refused,
    or answered with the charge there is.
    """

    repeated: Refuse | Literal["same_charge"] = Refuse("order_charged")
    within_s: float = float("inf")
    alike: tuple[Literal["amount_minor", "currency", "customer"], ...] = ()


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """A provider's documented behaviour with keys.

    ``heeded_for`` are the operations where a key counts, ``required_for`` those that are refused
    without one. Within its ``scope`` a key is known: an account's, that of all accounts of a
    company (their names begin alike, up to a dot), …; with ``regional``, only at the address
    where it was first used. ``stored`` says which outcomes are bound to the key once execution
    began; the others set it free.

    ``replay`` is what a known key is answered: the first answer; the same about the charge as it
    now is; or a ``key_conflict`` that names the charge. A success is replayed with
    ``replay_status``, where that is set, and every replay carries ``replay_marker``.
    ``mismatch`` is what another request under a known key meets, ``in_flight`` what the same
    request meets while the first has no outcome. With ``undecided``, a charge that the bank has
    not decided on is answered so, under its key, until it is. ``echo`` is the header that repeats
    the key in every answer. ``business`` guards orders where keys do not.
    """

    heeded_for: frozenset[str]
    required_for: frozenset[str] = frozenset()
    place: Place = InHeader()
    pattern: str = r"[\x20-\x7e]+"
    min_length: int = 1
    max_length: int = 255
    scope: Scope = "account"
    regional: bool = False
    retention_s: float = 86_400.0
    stored: Stored = "all"
    replay: ReplayForm = "as_stored"
    replay_status: int | None = None
    replay_marker: tuple[str, str] | None = ("idempotent-replayed", "true")
    mismatch: Refuse | Literal["replay"] = Refuse("key_mismatch")
    in_flight: Refuse | Literal["wait"] = Refuse("key_in_flight", retry_after_s=1)
    undecided: Refuse | None = None
    echo: str | None = None
    business: BusinessKey | None = None

    def key_in(self, headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
        """Return the key of a request, if it carries one. What cannot be a key is the empty one."""
        match self.place:
            case InHeader() as place:
                sent = headers.get(place.name)
                return _unquoted(sent) if place.quoted and sent and sent[0] == '"' else sent
            case InBody(path):
                return _field(body, path)
            case Nowhere():
                return None
            case _:
                assert_never(self.place)

    def objection(self, operation: str, key: str | None) -> str | None:
        """Return ``key_missing`` or ``key_invalid`` if this key will not do, else nothing."""
        if operation not in self.heeded_for:
            return None
        if key is None:
            return "key_missing" if operation in self.required_for else None
        if self.min_length <= len(key) <= self.max_length and _pattern(self.pattern)(key):
            return None
        return "key_invalid"

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
        key, region = call.key or "", call.request.source if self.regional else ""
        match self.scope:
            case "account":
                return (call.account, "", region, key)
            case "account_and_operation":
                return (call.account, call.operation, region, key)
            case "company":
                return (call.account.partition(".")[0], "", region, key)
            case "everyone":
                return ("", "", region, key)
            case _:
                assert_never(self.scope)

    def marked(self, reply: HttpReply) -> HttpReply:
        """Return a reply as it is replayed: a success in its status, each with its marker."""
        status = reply.status
        if self.replay_status is not None and 200 <= status < 300:
            status = self.replay_status
        marker = () if self.replay_marker is None else (self.replay_marker,)
        return HttpReply(status, reply.headers + marker, reply.body)


Slot = tuple[str, str, str, str]
"""Whose, for what, where, and the key itself."""


@value(frozen=True, slots=True)
class Fresh:
    """Never seen."""


FRESH: Final = Fresh()


@value(frozen=True, slots=True)
class InFlight:
    """Begun by this call, outcome not recorded."""

    call: str


@value(frozen=True, slots=True)
class Replay:
    """Done: this was the answer, about this charge.

    ``result`` is what the answer said, kept by who replays the current state of it, or
    who has to see whether the bank has decided by now.
    """

    reply: HttpReply
    charge: str | None
    result: "Result | None" = None


@value(frozen=True, slots=True)
class Mismatch:
    """Known, but with another request."""


@value(frozen=True, slots=True)
class Expired:
    """Known once; so long ago that the provider has promised to forget it."""


Lookup = Fresh | InFlight | Replay | Mismatch | Expired


@dataclass(slots=True, eq=False)
class Claim:
    """A call's right to its key, and what came of it."""

    slot: Slot
    call: str
    asked: object
    since_s: float
    answer: Replay | None = None


class KeyStore:
    """What the provider remembers of keys. One that is not ``honoured`` was never heard of."""

    def __init__(self, policy: KeyPolicy) -> None:
        self.policy = policy
        self.honoured = True
        self._claims: dict[Slot, Claim] = {}
        self._oldest_first: deque[Claim] = deque()

    def __len__(self) -> int:
        return len(self._claims)

    def heeds(self, call: Call) -> bool:
        """Tell whether this call's key means anything here."""
        return self.honoured and call.key is not None and call.operation in self.policy.heeded_for

    def objection(self, operation: str, key: str | None) -> str | None:
        """Return what is wrong with this key, to a provider that cares for keys at all."""
        return self.policy.objection(operation, key) if self.honoured else None

    def lookup(self, call: Call, now: float) -> Lookup:
        """Tell what is known of this call's key."""
        claim = self._claims.get(self.policy.slot(call))
        if claim is None:
            return FRESH
        if self._is_over(claim, now):
            return Expired()
        if self.policy.mismatch != "replay" and claim.asked != call.asked:
            return Mismatch()
        return claim.answer or InFlight(claim.call)

    def claim(self, call: Call, now: float) -> Claim:
        """Bind the key to this call, from now until it is stored or released."""
        self._forget_expired(now)
        slot = self.policy.slot(call)
        claim = self._claims[slot] = Claim(slot, call.id, call.asked, now)
        self._oldest_first.append(claim)
        return claim

    def store(
        self, claim: Claim, reply: HttpReply, charge: str | None, result: "Result | None" = None
    ) -> None:
        """Bind the answer to the key, so that every replay repeats it.

        Whoever holds the claim may replace the answer. That a claim is over by now harms nobody:
        the key has been forgotten, or belongs to another.
        """
        told_anew = self.policy.replay == "current_state" or self.policy.undecided is not None
        kept = result if told_anew else None
        claim.answer = Replay(reply, charge, kept)

    def release(self, claim: Claim) -> None:
        """Forget the key, because nothing happened under it."""
        if self._claims.get(claim.slot) is claim:
            del self._claims[claim.slot]

    def forget(self) -> None:
        """Forget every key, as a store does that was restarted: those in flight as well."""
        self._claims.clear()

    def _forget_expired(self, now: float) -> None:
        """Drop what is over, the oldest first; it stops at the first that is not."""
        oldest_first, retention_s = self._oldest_first, self.policy.retention_s
        while oldest_first:
            claim = oldest_first[0]
            if now < claim.since_s + retention_s:  # as nearly always, and so for all behind it
                return
            known = self._claims.get(claim.slot) is claim
            if known and claim.answer is None:
                return
            oldest_first.popleft()
            if known:
                del self._claims[claim.slot]

    def _is_over(self, claim: Claim, now: float) -> bool:
        return claim.answer is not None and now >= claim.since_s + self.policy.retention_s


@cache
def _pattern(pattern: str) -> Any:
    return re.compile(pattern).fullmatch


def _unquoted(value: str) -> str:
    """Return what stands between the quotes; a string that never ends is no key."""
    quoted = re.fullmatch(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"', value)
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else ""


def _field(body: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    value: Any = body
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if value is None or isinstance(value, str) else ""
