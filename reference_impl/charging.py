"""Reserve, call, record: how a charge is made once.

    client        service                  database             provider
      │ POST /charges │                        │                    │
      ├──────────────▶│ reserve ──────────────▶│ row, upstream key, │
      │               │                        │ lease and token    │
      │               │ call ──────────────────┼───────────────────▶│  outside any transaction
      │               │◀───────────────────────┼────────────────────┤
      │               │ record ───────────────▶│ outcome and entry, │
      │◀──────────────┤                        │ if the token holds │

Rule 1: the key is claimed before the provider is called, in a transaction of its own.
Rule 2: every attempt at one charge, whoever makes it, carries the stored upstream key.
Rule 3: an unknown outcome stays unknown. It frees the lease; the caller's retry or the
        reconciler asks again.
Rule 4: one deadline covers the call, its repetition and the look-up, and the lease outlives
        it; so a live owner is never overtaken.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from sqlalchemy.exc import SQLAlchemyError

from reference_impl.charge import Charge, Intent, Reply, answer_for, problem, replay_of
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
    """Time and chance, and how patient to be."""

    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    patience_s: float
    lease_s: float


class Charging:
    """Makes charges. Each step is a method, so that each can be read, and broken, alone."""

    def __init__(self, store: Store, provider: Provider, surroundings: Surroundings) -> None:
        self.store = store
        self.provider = provider
        self.surroundings = surroundings

    async def charge(self, tenant: str, key: str, intent: Intent) -> Reply:
        """Charge once for this key, however often it is asked, and answer truthfully."""
        match await self.reserve(tenant, key, intent):
            case Owned(charge):
                return answer_for(await self.pursue(charge))
            case Settled(charge):
                return replay_of(charge)
            case InFlight():
                detail = "this key is being worked on; try again with the same key"
                return problem(409, "in_flight", detail, retry_after_s=1)
            case Mismatch():
                return problem(422, "key_reused", "this key came with another charge before")
            case other:
                assert_never(other)

    async def reserve(self, tenant: str, key: str, intent: Intent) -> Reserved:
        """Claim the key for this intent. A crash after this leaves a row for the reconciler."""
        charge_id = f"pay_{self.surroundings.new_id()}"
        new = Reservation(charge_id, tenant, key, intent, self.new_upstream_key(charge_id))
        return await self.store.reserve(new, self.lease(self.surroundings.clock()))

    async def pursue(self, charge: Charge, *, look_first: bool = False) -> Charge:
        """Find out what becomes of a charge that is ours, and record it.

        Killed between the call and the record, we leave a row in flight whose upstream key
        finds the same charge again. The reconciler, or the client's retry, does that.
        """
        outcome = await self.outcome_of(charge, look_first=look_first)
        log.info("outcome", extra={"charge": charge.id, "outcome": repr(outcome)})
        try:
            return await self.store.record(charge, outcome, self.surroundings.clock())
        except SQLAlchemyError as error:
            # The call may have taken money: this is "processing", never "try something else".
            log.error("not recorded", extra={"charge": charge.id, "error": type(error).__name__})  # noqa: TRY400
            return charge

    async def outcome_of(self, charge: Charge, *, look_first: bool = False) -> Outcome:
        """Call, repeat and look within one deadline."""
        try:
            async with asyncio.timeout(self.surroundings.patience_s):
                if look_first and not isinstance(look := await self.look(charge), Absent):
                    return look
                for _ in range(CALLS_PER_REQUEST):
                    outcome = await self.attempt(charge)
                    if not isinstance(outcome, Unknown) or outcome.then is Then.WAIT:
                        break
                return outcome
        except TimeoutError:
            return self.classify(Lost("timeout"), charge)

    async def attempt(self, charge: Charge) -> Outcome:
        """Call once; where only a look tells the truth, look."""
        outcome = self.classify(await self.call(charge), charge)
        if isinstance(outcome, Unknown) and outcome.then is Then.LOOK:
            return after_look(outcome, await self.look(charge))
        return outcome

    async def call(self, charge: Charge) -> Answer | Lost:
        return await self.provider.charge(charge, self.upstream_key(charge))

    async def look(self, charge: Charge) -> Outcome | Absent:
        return found(await self.provider.look(charge.intent.order), charge)

    def classify(self, answer: Answer | Lost, charge: Charge) -> Outcome:
        return classify(answer, charge)

    def new_upstream_key(self, charge_id: str) -> str:
        """Choose the upstream key of a new charge. It is stored before anyone uses it."""
        return f"charge-{charge_id}"

    def upstream_key(self, charge: Charge) -> str:
        """Return the same key for every attempt at one charge, so that a retry is a replay."""
        return charge.upstream_key

    def lease(self, now: datetime) -> Lease:
        return Lease(now, now + timedelta(seconds=self.surroundings.lease_s))
