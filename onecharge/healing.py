"""After the faults: everything must converge, grow quiet, and be read back.

Rule 1: liveness is judged here only: faults have stopped, whoever was killed runs again.
Rule 2: every order is read back twice: when all agree on it, and after a time of quiet.
Rule 3: customers without a definite answer ask again with the same key; events that wait for
        their next attempt are sent sooner. Virtual time stands, or keys would expire.
Rule 4: what has not converged within the bound gets four times as long before it counts, unless
        others were on beside it: then it is played again alone. If an order is charged twice
        already, there is no need to wait for more.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from onecharge.history.recorder import Recorder
from onecharge.insistence import Insistence, to_be_captured, unanswered
from onecharge.press import Order
from onecharge.world.customers import Customers
from onecharge.world.read_back import Belief
from onecharge.world.ticking import ticking
from onecharge.world.world import World
from simulator.core.journal import Entry, Kind, Sink

QUIET_S: Final = 0.25
"""For so long nothing must move before the last reading."""

CONFIRM: Final = 4
"""A liveness finding counts only if it still stands at so many times the bound."""

LOOK_AGAIN_S: Final = 0.03
_PAID: Final = frozenset({"succeeded", "refunded"})
_REDELIVERIES = 9
_SHOWN = 20


@dataclass(frozen=True)
class Lack:
    """Something that is not as it should be at the end. ``liveness``: waiting may mend it."""

    says: str
    liveness: bool = True


class Healing:
    """Brings orders to rest once faults have ended, and reads back what came of them.

    ``billed`` are the orders that nobody pays by hand. With ``only_own``, the news of other
    orders is none of its business: others heal beside it.
    """

    def __init__(
        self,
        world: World,
        recorder: Recorder,
        customers: Customers,
        orders: Sequence[Order],
        bound_s: float,
        *,
        only_own: bool = False,
        billed: Collection[str] = (),
    ) -> None:
        self._world = world
        self._recorder = recorder
        self._own = frozenset(order.reference for order in orders) if only_own else None
        self._customers = customers
        self._orders = orders
        self._by_hand = [order for order in orders if order.reference not in billed]
        self._bound_s = bound_s
        self._read_back = world.read_back
        self._agreed: set[str] = set()

    async def settle(self) -> None:
        """Bring all to an end that everybody agrees on, or find out that it cannot be had."""
        announce_phase(self._recorder, "heal")
        await self._converge()
        await self._read([order for order in self._orders if order.reference not in self._agreed])

    async def rest(self) -> None:
        """Wait for quiet, and read back."""
        announce_phase(self._recorder, "quiet")
        await self._quiet()
        announce_phase(self._recorder, "read")
        await self._read(self._orders)

    async def _converge(self) -> None:
        began_s = time.monotonic()
        bound_s = self._bound_s
        async with self._insistence() as insistence:
            while True:
                lacks = await self._lacks()
                after_s = round(time.monotonic() - began_s, 3)
                waiting = [lack for lack in lacks if lack.liveness]
                if not lacks or (after_s >= bound_s and not waiting):
                    self._say("ok", lacks, after_s)
                    return
                if after_s >= bound_s:
                    self._say("unknown", waiting, after_s)
                    if bound_s > self._bound_s or self._own is not None or self._charged_twice():
                        return
                    bound_s *= CONFIRM
                insistence.go_on(self._by_hand)
                await asyncio.sleep(LOOK_AGAIN_S)

    def _insistence(self) -> Insistence:
        """Return what has everybody ask again, so slowly that it lasts for the longest wait."""
        first_wait_s = self._bound_s * CONFIRM / 2**_REDELIVERIES
        return Insistence(self._world, self._customers, own=self._own, first_wait_s=first_wait_s)

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
        self._recorder(Entry("judge", kind, value))

    async def _lacks(self) -> list[Lack]:
        """Return what still keeps the world from being settled and in agreement."""
        lacks = [
            Lack(f"{order.reference} has no definite answer (last: {order.outcome})")
            for order in self._by_hand
            if not order.settled
        ]
        lacks += [
            Lack(f"{order.reference} is authorised, and not captured yet")
            for order in self._by_hand
            if to_be_captured(order, self._world.service_file)
        ]
        lacks += [
            Lack(f"{order.reference}: no definite answer to a {operation.what}")
            for order in self._by_hand
            for operation in unanswered(order)
        ]
        undelivered = self._world.simulator.undelivered(self._own)
        if undelivered:
            lacks.append(Lack(f"{undelivered} event(s) not acknowledged"))
        if lacks:
            return lacks
        lacks += [
            Lack(f"{order.reference} is due, and not charged")
            for order in self._orders
            if order not in self._by_hand
            if not self._world.simulator.real_charges(order.reference)
        ]
        doubtful = [order for order in self._orders if order.reference not in self._agreed]
        for found in await asyncio.gather(*map(self._compared, doubtful)):
            lacks += found
        return lacks

    async def _compared(self, order: Order) -> list[Lack]:
        """Read an order back, write that down once all agree on it, and return what does not."""
        belief = await self._read_back.of(order)
        found = self._disagreements(order, belief)
        if not found:
            self._agreed.add(order.reference)
            self._write(order, belief)
        return found

    def _disagreements(self, order: Order, belief: Belief) -> list[Lack]:
        real = len(self._world.simulator.real_charges(order.reference))
        lacks = []
        if belief.status in {"pending", "unreadable"}:
            lacks.append(Lack(f"{order.reference} is still {belief.status} to the service"))
        elif belief.status is not None and (belief.status in _PAID) != bool(real):
            says = f"{order.reference}: the service says {belief.status}, {real} real charge(s)"
            lacks.append(Lack(says, liveness=belief.status == "absent"))
        if belief.effects == 0 and real:
            lacks.append(Lack(f"{order.reference} is charged, and nothing is booked"))
        if belief.refunded_minor is not None:
            given_minor = self._given_back(order)
            if belief.refunded_minor != given_minor:
                says = f"{belief.refunded_minor} of {given_minor} given back is booked"
                lacks.append(Lack(f"{order.reference}: {says}"))
        return lacks

    def _given_back(self, order: Order) -> int:
        charges = self._world.simulator.provider.charges.values()
        return sum(each.refunded_minor for each in charges if each.reference == order.reference)

    async def _quiet(self) -> None:
        timing = self._world.service_file.timing
        # Whatever the service may still do of its own accord, it has done by then.
        quiet_s = max(QUIET_S, timing.books_within_s, timing.calls_provider_within_s)
        async with at_most(self._bound_s + quiet_s):
            while not self._recorder.silent_for(quiet_s):
                await asyncio.sleep(LOOK_AGAIN_S)

    async def _read(self, orders: Sequence[Order]) -> None:
        await asyncio.gather(*map(self._read_one, orders))

    async def _read_one(self, order: Order) -> None:
        self._write(order, await self._read_back.of(order))

    def _write(self, order: Order, belief: Belief) -> None:
        """Write a belief down at once: what happens after it was read is no part of it."""
        value = {"what": "belief", **belief.as_value()}
        self._recorder(Entry("judge", "read", value, order.reference, order.tenant, order.key))


async def heal(world: World, healings: Sequence[Healing]) -> None:
    """End all faults, let run again whoever was killed, and heal what there is to heal."""
    world.simulator.disarm()
    await world.services.start()
    async with ticking(world):
        await asyncio.gather(*(healing.settle() for healing in healings))
    await asyncio.gather(*(healing.rest() for healing in healings))


def announce_phase(sink: Sink, name: str) -> None:
    """Write down that a phase begins."""
    sink(Entry("judge", "invoke", {"what": "phase", "phase": name}))


@asynccontextmanager
async def at_most(seconds: float) -> AsyncIterator[None]:
    """Give up on what is inside after a while, and go on."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        return
