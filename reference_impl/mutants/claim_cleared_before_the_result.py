"""The claim on a key is cleared when the work is done, a moment before the result is stored.

The guard was that both are one transaction. Without it, a request that arrives in between finds
neither and charges again. Modelled on report A19 (Truxify #11508): the lock was freed when the
answer had been sent, the result was stored by whoever came to it.
"""

from contextlib import suppress
from typing import Any

from sqlalchemy import func, update
from sqlalchemy.exc import IntegrityError

from reference_impl.operation import Operation
from reference_impl.outcomes import Outcome
from reference_impl.schema import operations
from reference_impl.store import Store

VIOLATES = "one_charge_per_key"
CLASS = "K03"
REPORT = "A19"
SHOWN_BY = "pressed_again_around_the_answer"


class Mutant(Store):
    async def record(self, owned: Operation, outcome: Outcome, *more: Any) -> Operation:
        row = update(operations).where(operations.c.id == owned.id)
        async with self.transaction() as connection:
            await connection.execute(row.values(key=operations.c.key.concat("~")))
        known = await super().record(owned, outcome, *more)
        with suppress(IntegrityError):  # somebody else has the key by now
            async with self.transaction() as connection:
                await connection.execute(row.values(key=func.rtrim(operations.c.key, "~")))
        return known
