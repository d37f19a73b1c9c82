"""A client that hangs up ends the handler, and its key is given back.

The guard was a task of its own for what may move money, which the handler only waits for. Without
it a charge that was made is forgotten half-way; the retry makes another. Modelled on report A23
(caura #1629): a cancelled request never came to record its result.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiohttp import web
from sqlalchemy import delete

from reference_impl.answers import Reply
from reference_impl.app import Desk
from reference_impl.schema import operations

VIOLATES = "one_charge_per_key"
CLASS = "K07"
REPORT = "A23"
SHOWN_BY = "customers_hang_up"


class Mutant(Desk):
    hanging_up_cancels = True

    async def charge(self, request: web.Request) -> web.Response:
        try:
            return await super().charge(request)
        except asyncio.CancelledError:
            its = operations.c.key == request.headers["Idempotency-Key"]
            async with self.store.transaction() as connection:
                await connection.execute(delete(operations).where(its))
            raise

    async def finish(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        return await work
