"""Reserve, call, record: how a charge is made, captured and refunded once.

    client        service                  database             provider
      │ POST /charges │                        │                    │
      ├──────────────▶│ reserve ──────────────▶│ row, upstream key, │
      │               │                        │ lease and token    │
      │               │ call ──────────────────┼───────────────────▶│  outside any transaction
      │               │◀───────────────────────┼────────────────────┤
      │               │ record ───────────────▶│ outcome and entry, │
      │◀──────────────┤                        │ if the token holds │

Rule 1: the key is claimed before the provider is called, in a transaction of its own.
Rule 2: every attempt at one operation, whoever makes it, carries the stored upstream key.
Rule 3: an unknown outcome stays unknown. It frees the lease; the caller's retry or the
        reconciler asks again.
Rule 4: whoever works on an operation renews its lease, so a live owner is never overtaken.
Rule 5: once the provider may have forgotten the upstream key, it is asked before it is called.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from sqlalchemy.exc import SQLAlchemyError

from reference_impl.answers import Reply, answer_for, problem, replay_of
from reference_impl.leases import Leases
from reference_impl.metrics import Metrics
from reference_impl.operation import Change, Intent, Kind, Operation
from reference_impl.outcomes import (
    Absent,
    Answer,
    Lost,
    Outcome,
    Then,
    Unknown,
    after_look,
    classify,
    found,
)
from reference_impl.provider import Provider
from reference_impl.reservation import (
    InFlight,
    Lease,
    Mismatch,
    Owned,
    Refused,
    Reservation,
    Reserved,
    Settled,
)
from reference_impl.store import Store

log = logging.getLogger(__name__)

CALLS_PER_REQUEST: Final = 2
"""One call, and one more at once if its answer was lost: a replay costs less than a 202."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Time and chance, how patient to be, and who counts."""

    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    metrics: Metrics
    patience_s: float
    lease_s: float
    back_off_s: float
    back_off_at_most_s: float
    key_retention_s: float


class Charging:
    """Makes charges, captures and refunds. Each step can be read, and broken, alone."""

    def __init__(self, store: Store, provider: Provider, surroundings: Surroundings) -> None:
        self.store = store
        self.provider = provider
        self.surroundings = surroundings
        self.metrics = surroundings.metrics
        self.leases = Leases(store, self.lease)

    async def charge(self, tenant: str, key: str, intent: Intent) -> Reply:
        """Charge once for this key, however often it is asked, and answer truthfully."""
        return await self._serve("charge", await self.reserve(tenant, key, intent))

    async def change(self, tenant: str, key: str, change: Change) -> Reply:
        """Capture or refund once for this key."""
        new = self.reservation(change.kind, tenant, key, change)
        reserved = await self.store.reserve_change(new, self.lease(self.surroundings.clock()))
        if reserved is None:
            return problem(404, "not_found", "no such charge")
        return await self._serve(change.kind, reserved)

    async def reserve(self, tenant: str, key: str, intent: Intent) -> Reserved:
        """Claim the key for this intent. A crash after this leaves a row for the reconciler."""
        new = self.reservation("charge", tenant, key, intent)
        return await self.store.reserve(new, self.lease(self.surroundings.clock()))

    def reservation(
        self, kind: Kind, tenant: str, key: str, asked: Intent | Change, invoice: str | None = None
    ) -> Reservation:
        """Decide all that every attempt at an operation will share."""
        new_id = f"{_PREFIXES[kind]}_{self.surroundings.new_id()}"
        return Reservation(
            new_id, kind, tenant, key, asked, self.new_upstream_key(kind, new_id), invoice
        )

    async def _serve(self, kind: Kind, reserved: Reserved) -> Reply:
        match reserved:
            case Owned(operation):
                return answer_for(await self.pursue(operation))
            case Settled(operation):
                self.metrics.replays.labels(kind).inc()
                return await self.replay(operation)
            case InFlight():
                self.metrics.conflicts.labels(kind, "in_flight").inc()
                detail = "this key is being worked on; try again with the same key"
                return problem(409, "in_flight", detail, retry_after_s=1)
            case Mismatch():
                self.metrics.conflicts.labels(kind, "mismatch").inc()
                return problem(422, "key_reused", f"this key came with another {kind} before")
            case Refused(status, code, detail, retry_after_s):
                return problem(status, code, detail, retry_after_s=retry_after_s)
            case other:
                assert_never(other)

    async def replay(self, operation: Operation) -> Reply:
        """Answer a key that has its final answer, and do nothing else."""
        return replay_of(operation)

    async def pursue(self, operation: Operation, *, look_first: bool = False) -> Operation:
        """Find out what becomes of an operation that is ours, and record it.

        Killed between the call and the record, we leave a row in flight whose upstream key
        finds the same charge again. The reconciler, or the client's retry, does that.
        """
        with self.leases.held(operation):
            look_first = look_first or self.forgotten(operation)
            outcome = await self.outcome_of(operation, look_first=look_first)
            log.info("outcome", extra={"operation": operation.id, "outcome": repr(outcome)})
            self.metrics.outcome(operation, outcome)
            return await self.record(operation, outcome)

    async def record(self, operation: Operation, outcome: Outcome) -> Operation:
        """Store and book what we learnt, if we still own the operation."""
        now = self.surroundings.clock()
        try:
            return await self.store.record(operation, outcome, now, self.back_off(operation))
        except SQLAlchemyError as error:
            # The call may have taken money: this is "processing", never "try something else".
            name = type(error).__name__
            log.error("not recorded", extra={"operation": operation.id, "error": name})  # noqa: TRY400
            return operation

    async def outcome_of(self, operation: Operation, *, look_first: bool = False) -> Outcome:
        """Call, repeat and look within one deadline."""
        try:
            async with asyncio.timeout(self.surroundings.patience_s):
                if look_first and not isinstance(look := await self.look(operation), Absent):
                    return look
                for _ in range(CALLS_PER_REQUEST):
                    outcome = await self.attempt(operation)
                    if not isinstance(outcome, Unknown) or outcome.then is Then.WAIT:
                        break
                return outcome
        except TimeoutError:
            return self.classify(Lost("timeout"), operation)

    async def attempt(self, operation: Operation) -> Outcome:
        """Call once; where only a look tells the truth, look."""
        self.metrics.attempts.labels(operation.kind).inc()
        outcome = self.classify(await self.call(operation), operation)
        if isinstance(outcome, Unknown) and outcome.then is Then.LOOK:
            return after_look(outcome, await self.look(operation))
        return outcome

    async def call(self, operation: Operation) -> Answer | Lost:
        return await self.provider.call(operation, self.upstream_key(operation))

    async def look(self, operation: Operation) -> Outcome | Absent:
        return found(await self.provider.look(operation), operation)

    def classify(self, answer: Answer | Lost, operation: Operation) -> Outcome:
        return classify(answer, operation)

    def new_upstream_key(self, kind: Kind, operation_id: str) -> str:
        """Choose the upstream key of a new operation. It is stored before anyone uses it."""
        return f"{kind}-{operation_id}"

    def upstream_key(self, operation: Operation) -> str:
        """Return the same key for every attempt at one operation, so that a retry is a replay."""
        return operation.upstream_key

    def forgotten(self, operation: Operation) -> bool:
        """Say whether the provider may have dropped the key, so that a repeat charges again."""
        retention = timedelta(seconds=self.surroundings.key_retention_s)
        return self.surroundings.clock() >= operation.created_at + retention

    def lease(self, now: datetime) -> Lease:
        return Lease(now, now + timedelta(seconds=self.surroundings.lease_s))

    def back_off(self, operation: Operation) -> timedelta:
        """Return how long the reconciler leaves an unknown outcome alone, longer each time."""
        doubled_s = self.surroundings.back_off_s * 2 ** min(operation.asked, 16)
        return timedelta(seconds=min(doubled_s, self.surroundings.back_off_at_most_s))


_PREFIXES: Final[dict[Kind, str]] = {
    "charge": "pay",
    "invoice": "pay",
    "capture": "cap",
    "refund": "ref",
}
