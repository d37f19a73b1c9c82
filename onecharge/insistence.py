"""Whoever waits for a definite answer asks again, and news comes sooner: until all is known.

Rule 1: one request at a time for each order, under the keys that it had before.
Rule 2: events that wait for their next attempt are brought forward, ever more slowly: the
        provider's schedule must outlast the wait. Virtual time stands, or keys would expire.
Rule 3: what was authorised is captured as soon as its customer was told ok.
"""

import asyncio
import time
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Final, Self

from onecharge.press import Operation, Order
from onecharge.service_file import ServiceFile
from onecharge.world.customers import Customers
from onecharge.world.world import World

_PRESS_AGAIN_S: Final = 0.2


class Insistence:
    """Customers who ask again, and a provider that tells again, for as long as the context lasts.

    ``own`` are the orders whose news is brought forward, all there are if None; the second time
    ``first_wait_s`` after the first, and then after twice as long each time.
    """

    def __init__(
        self,
        world: World,
        customers: Customers,
        *,
        own: Collection[str] | None,
        first_wait_s: float,
    ) -> None:
        self._world = world
        self._file = world.service_file
        self._customers = customers
        self._own = own
        self._hasten_at_s = 0.0
        self._wait_s = first_wait_s
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Whoever still waits for an answer gives up."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    def go_on(self, orders: Iterable[Order]) -> None:
        """Have those of the orders that are still open asked for, and their news sent."""
        for order in orders:
            busy = self._asking.get(order.reference)
            if self.waits_for(order) and (busy is None or busy.done()):
                self._asking[order.reference] = asyncio.create_task(self._ask(order))
        if time.monotonic() >= self._hasten_at_s:
            self._hasten_at_s = time.monotonic() + self._wait_s
            self._wait_s *= 2
            self._world.simulator.hasten_deliveries(self._own)

    def waits_for(self, order: Order) -> bool:
        """Tell whether a customer still waits for a definite answer to something."""
        return not order.settled or to_be_captured(order, self._file) or bool(unanswered(order))

    async def _ask(self, order: Order) -> None:
        within_s = self._file.timing.answers_within_s
        if not order.settled:
            await self._customers.press(order, within_s)
        if to_be_captured(order, self._file):
            await self._customers.capture(order, within_s, key=order.capture_key)
        for operation in unanswered(order):
            await self._customers.operate(order, within_s, operation)
        await asyncio.sleep(_PRESS_AGAIN_S)


def to_be_captured(order: Order, service_file: ServiceFile) -> bool:
    """Tell whether an order was authorised, and nobody has asked yet for its money to be taken."""
    return (
        service_file.capture is not None
        and order.outcome == "ok"
        and all(operation.what != "capture" for operation in order.operations)
    )


def unanswered(order: Order) -> list[Operation]:
    """Return what a customer still waits for an answer to, beside the charge.

    Whoever was declined waits for nothing: there is no money to capture or to give back, and
    "not now" is as right an answer to that as "never".
    """
    if order.outcome == "declined":
        return []
    return [operation for operation in order.operations if not operation.settled]
