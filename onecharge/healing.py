"""After the faults: everything must converge, grow quiet, and be read back.

Rule 1: liveness is judged here only: faults have stopped, whoever was killed runs again.
Rule 2: customers without a definite answer ask again with the same key; events that wait for
        their next attempt are sent sooner. Virtual time stands, or keys would expire.
Rule 3: what has not converged within the bound gets four times as long before it counts,
        unless an order is charged twice already: then there is no need to wait for more.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from onecharge.press import Order
from onecharge.world.customers import Customers
from onecharge.world.read_back import Belief, ReadBack
from onecharge.world.ticking import ticking
from onecharge.world.world import World
from simulator.core.journal import Entry, Kind

QUIET_S: Final = 0.25
"""For so long nothing must move before the last reading."""

CONFIRM: Final = 4
"""A liveness finding counts only if it still stands at so many times the bound."""

LOOK_AGAIN_S: Final = 0.03
_PRESS_AGAIN_S = 0.2
_REDELIVERIES = 9
_SHOWN = 20


@dataclass(frozen=True)
class Lack:
    """Something that is not as it should be at the end. ``liveness``: waiting may mend it."""

    says: str
    liveness: bool = True


class Healing:
    """Brings a world and its orders to rest, and reads back what came of them."""

    def __init__(
        self, world: World, customers: Customers, orders: Sequence[Order], bound_s: float
    ) -> None:
        self._world = world
        self._customers = customers
        self._orders = orders
        self._bound_s = bound_s
        self._read_back = ReadBack.in_world(world)
        self._agreed: set[str] = set()
        self._redeliver_at_s = 0.0
        self._redeliver_wait_s = bound_s * CONFIRM / 2**_REDELIVERIES

    async def through(self) -> None:
        """Heal, wait for quiet, read back; every phase is announced in the history."""
        self._world.phase("heal")
        self._world.simulator.disarm()
        await self._world.services.start()
        async with ticking(self._world):
            await self._converge()
        self._world.phase("quiet")
        await self._quiet()
        self._world.phase("read")
        await self._read()

    async def _converge(self) -> None:
        began_s = time.monotonic()
        bound_s = self._bound_s
        asking: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                lacks = await self._lacks()
                after_s = round(time.monotonic() - began_s, 3)
                waiting = [lack for lack in lacks if lack.liveness]
                if not lacks or (after_s >= bound_s and not waiting):
                    self._say("ok", lacks, after_s)
                    return
                if after_s >= bound_s:
                    self._say("unknown", waiting, after_s)
                    if bound_s > self._bound_s or self._charged_twice():
                        return
                    bound_s *= CONFIRM
                self._ask_again(asking)
                self._redeliver()
                await asyncio.sleep(LOOK_AGAIN_S)
        finally:
            for task in asking.values():
                task.cancel()
            await asyncio.gather(*asking.values(), return_exceptions=True)

    def _charged_twice(self) -> bool:
        """Whether money is wrong already, so that liveness adds nothing worth waiting for."""
        real = self._world.simulator.real_charges
        return any(len(real(order.reference)) > 1 for order in self._orders)

    def _say(self, kind: Kind, lacks: Sequence[Lack], after_s: float) -> None:
        value: dict[str, Any] = {
            "what": "converged",
            "after_s": after_s,
            "bound_s": self._bound_s,
            "missing": [lack.says for lack in lacks[:_SHOWN]],
        }
        self._world.sink(Entry("judge", kind, value))

    def _ask_again(self, asking: dict[str, "asyncio.Task[None]"]) -> None:
        """Have every customer without a definite answer press again, one request at a time."""
        for order in self._orders:
            busy = asking.get(order.reference)
            if _open(order) and (busy is None or busy.done()):
                asking[order.reference] = asyncio.create_task(self._ask(order))

    async def _ask(self, order: Order) -> None:
        within_s = self._world.service_file.timing.answers_within_s
        if not order.settled:
            await self._customers.press(order, within_s)
        for operation in order.operations:
            if not operation.settled:
                await self._customers.operate(order, within_s, operation)
        await asyncio.sleep(_PRESS_AGAIN_S)

    def _redeliver(self) -> None:
        """Bring redeliveries forward, a step of their schedule at a time, ever more slowly.

        The schedule must outlast the longest wait, or the provider would give up before us.
        """
        if time.monotonic() >= self._redeliver_at_s:
            self._redeliver_at_s = time.monotonic() + self._redeliver_wait_s
            self._redeliver_wait_s *= 2
            self._world.simulator.hasten_deliveries()

    async def _lacks(self) -> list[Lack]:
        """Return what still keeps the world from being settled and in agreement."""
        lacks = [
            Lack(f"{order.reference} has no definite answer (last: {order.outcome})")
            for order in self._orders
            if not order.settled
        ]
        lacks += [
            Lack(f"{order.reference}: no definite answer to a {operation.what}")
            for order in self._orders
            for operation in order.operations
            if not operation.settled
        ]
        undelivered = self._world.simulator.undelivered()
        if undelivered:
            lacks.append(Lack(f"{undelivered} event(s) not acknowledged"))
        if lacks:
            return lacks
        doubtful = [order for order in self._orders if order.reference not in self._agreed]
        for order, belief in await self._beliefs(doubtful):
            found = self._disagreements(order, belief)
            lacks += found
            if not found:
                self._agreed.add(order.reference)
        return lacks

    def _disagreements(self, order: Order, belief: Belief) -> list[Lack]:
        real = len(self._world.simulator.real_charges(order.reference))
        lacks = []
        if belief.status in {"pending", "unreadable"}:
            lacks.append(Lack(f"{order.reference} is still {belief.status} to the service"))
        elif belief.status is not None and (belief.status == "succeeded") != bool(real):
            says = f"{order.reference}: the service says {belief.status}, {real} real charge(s)"
            lacks.append(Lack(says, liveness=belief.status == "absent"))
        if belief.effects == 0 and real:
            lacks.append(Lack(f"{order.reference} is charged, and nothing is booked"))
        return lacks

    async def _quiet(self) -> None:
        timing = self._world.service_file.timing
        # Whatever the service may still do of its own accord, it has done by then.
        quiet_s = max(QUIET_S, timing.books_within_s, timing.calls_provider_within_s)
        async with at_most(self._bound_s + quiet_s):
            while not self._world.silent_for(quiet_s):
                await asyncio.sleep(LOOK_AGAIN_S)

    async def _read(self) -> None:
        for order, belief in await self._beliefs(self._orders):
            value = {"what": "belief", **belief.as_value()}
            self._world.sink(
                Entry("judge", "read", value, order.reference, order.tenant, order.key)
            )

    async def _beliefs(self, orders: Sequence[Order]) -> list[tuple[Order, Belief]]:
        beliefs = await asyncio.gather(*(self._read_back.of(order) for order in orders))
        return list(zip(orders, beliefs, strict=True))


def _open(order: Order) -> bool:
    """Tell whether a customer still waits for a definite answer to something."""
    return not order.settled or not all(operation.settled for operation in order.operations)


@asynccontextmanager
async def at_most(seconds: float) -> AsyncIterator[None]:
    """Give up on what is inside after a while, and go on."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        return
