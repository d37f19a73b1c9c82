"""What happens while faults are on: the steps of a scenario, carried out.

Rule 1: one step after the other; what goes on meanwhile is over when all steps are.
Rule 2: every act that was carried out is written down as something planned that happened. One
        whose condition never came is not, and leaves the scenario unknown.
Rule 3: nothing here judges.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, assert_never

from onecharge.cast import Cast, other_tenant
from onecharge.healing import LOOK_AGAIN_S, QUIET_S, at_most
from onecharge.history.recorder import Recorder
from onecharge.insistence import Insistence, to_be_captured
from onecharge.press import Order, Press
from onecharge.scenario_file import Scenario
from onecharge.steps import (
    Act,
    Advance,
    Bill,
    BuyAgain,
    ByCustomers,
    CrashDatabase,
    EdgeKeys,
    Forge,
    Leave,
    OtherTenant,
    Pay,
    PressAgain,
    PressLate,
    Pry,
    Refund,
    Replace,
    Resend,
    Restart,
    Settle,
    Step,
    ToTheService,
    Wait,
)
from onecharge.world.customers import Customers
from onecharge.world.news import forge
from onecharge.world.world import World
from simulator.core.invoices import Invoice
from simulator.core.journal import FAULT, Entry

_HOUR_S = 3_600.0
_SOONER: Final = 4
"""Into so many parts of the bound the first wait for news is one: it is brought forward thrice."""

Work = Coroutine[Any, Any, object]


class Acts:
    """Carries out the steps of one scenario."""

    def __init__(
        self,
        world: World,
        recorder: Recorder,
        customers: Customers,
        scenario: Scenario,
        cast: Cast,
        *,
        bound_s: float,
    ) -> None:
        self._world = world
        self._recorder = recorder
        self._customers = customers
        self._steps = scenario.file.steps
        self._names = scenario.acts()
        self._customer = scenario.file.customer
        self._cast = cast
        self._bound_s = bound_s
        self._pressed: dict[str, Order] = {}
        self._meanwhile: list[asyncio.Task[None]] = []

    async def through(self) -> None:
        """Carry out every step."""
        try:
            for place, step in enumerate(self._steps):
                work = self._carry_out(place, step)
                if getattr(step, "meanwhile", False):
                    self._meanwhile.append(asyncio.create_task(work))
                else:
                    await work
            await asyncio.gather(*self._meanwhile)
        finally:
            for task in self._meanwhile:
                task.cancel()
            await asyncio.gather(*self._meanwhile, return_exceptions=True)

    async def _carry_out(self, place: int, step: Step) -> None:
        match step:
            case Settle():
                await self._settle()
            case Wait():
                await asyncio.sleep(step.ms / 1000)
            case Act():
                if await self._act(step):
                    self._say_done(place, step)
            case _:
                await self._of_customers(place, step)

    def _say_done(self, place: int, step: ToTheService) -> None:
        value = {"what": "fired", "rule": self._names[place], "fault": step.do, "seam": "step"}
        self._recorder(Entry(FAULT, "effect", value))

    # What customers do.

    async def _of_customers(self, place: int, step: ByCustomers) -> None:
        match step:
            case Pay():
                await self._each(step.orders, lambda order: self._pay(order, step.timeout_s))
            case PressAgain():
                await self._each(step.orders, lambda order: self._press_again(order, step))
            case PressLate():
                await self._press_late(step)
            case Leave():
                await self._each(step.orders, lambda order: self._leave(order, step))
            case BuyAgain():
                chosen = self._sent(self._cast.payers(step.orders))
                twins = self._sent([self._cast.beside(place, order) for order in chosen])
                await _all(self._pay(order, step.timeout_s) for order in (*chosen, *twins))
            case OtherTenant():
                chosen = self._cast.payers(step.orders)
                others = self._sent([self._cast.beside(place, order) for order in chosen])
                await _all(self._pay_as_other(order, step) for order in others)
            case Pry():
                await self._each(step.orders, lambda order: self._pry(order, step))
            case EdgeKeys():
                await self._each(step.orders, lambda order: self._pay(order, step.timeout_s))
                await self._each(
                    step.orders, lambda order: self._customers.press(order, self._patience(step))
                )
            case Refund():
                await self._each(step.orders, lambda order: self._refund(order, step))
            case _:
                assert_never(step)

    async def _each(self, serials: tuple[int, ...], work: Callable[[Order], Work]) -> None:
        await _all(work(order) for order in self._sent(self._cast.payers(serials)))

    def _sent(self, orders: list[Order]) -> list[Order]:
        """Note that customers have been sent for these orders, and return them."""
        self._pressed |= {order.reference: order for order in orders}
        return orders

    async def _pay(self, order: Order, timeout_s: float | None) -> None:
        customer = self._customer
        if timeout_s is not None:
            customer = customer.model_copy(update={"timeout_s": timeout_s})
        await self._customers.pay(order, customer)
        if to_be_captured(order, self._world.service_file):
            await self._customers.capture(order, customer.timeout_s, key=order.capture_key)

    async def _press_again(self, order: Order, step: PressAgain) -> None:
        press = Press(step.variant)
        for _ in range(step.times):
            presses = (
                self._customers.press(order, self._patience(step), press)
                for _ in range(step.at_once)
            )
            await _all(presses)

    async def _press_late(self, step: PressLate) -> None:
        first, *others = self._sent(self._cast.payers(step.orders))
        began_s = time.monotonic()
        await self._pay(first, step.timeout_s)
        took_s = time.monotonic() - began_s
        for place, order in enumerate(others):
            offset_s = step.offsets_ms[place % len(step.offsets_ms)] / 1000
            await self._customers.press_late(
                order, self._patience(step), after_s=took_s + offset_s, since="start"
            )

    async def _leave(self, order: Order, step: Leave) -> None:
        left = asyncio.Event()
        asyncio.get_running_loop().call_later(step.after_ms / 1000, left.set)
        await self._customers.press(order, self._patience(step), leave=left)

    async def _pay_as_other(self, order: Order, step: OtherTenant) -> None:
        press = Press("other_tenant", key=order.key)
        for attempt in range(self._customer.attempts):
            if attempt:
                await asyncio.sleep(self._customer.pause_ms / 1000)
            await self._customers.press(order, self._patience(step), press)
            if order.settled:
                return

    async def _pry(self, order: Order, step: Pry) -> None:
        tenant, token = other_tenant(order, self._world.service_file)
        await self._customers.pry(order, self._patience(step), tenant, token)

    async def _refund(self, order: Order, step: Refund) -> None:
        amount_minor = None if step.part == "all" else order.amount_minor // 2
        for number in range(step.times):
            refunds = []
            for racer in range(step.at_once):
                each = f"-{number}-{racer}" if step.keys == "each" else ""
                key = f"{order.key}-refund{each}"
                refunds.append(
                    self._customers.refund(
                        order, self._patience(step), key=key, amount_minor=amount_minor
                    )
                )
            await _all(refunds)

    def _patience(self, step: ByCustomers) -> float:
        return step.timeout_s or self._customer.timeout_s

    # What is done to the service.

    async def _act(self, step: ToTheService) -> bool:
        """Do it; tell whether it could be done."""
        services = self._world.services
        done = True
        match step:
            case Advance():
                done = await self._advance(step)
            case Forge():
                told = [forge(self._world, order, step) for order in self._cast.chosen(step.orders)]
                done = any(told)
            case Bill():
                self._bill(step)
            case Resend():
                done = self._resend(step)
            case Restart():
                for name in services.names:
                    services.kill(name)
                await asyncio.sleep(step.down_ms / 1000)
                await _all(services.restart(name) for name in services.names)
            case Replace():
                for name in services.names:
                    await services.replace(name)
            case CrashDatabase():
                await self._crash_database(step)
            case _:
                assert_never(step)
        return done

    async def _advance(self, step: Advance) -> bool:
        """Let hours pass once nothing is open: a key that expires under an open order is unfair."""
        if not await self._settle():
            return False
        self._world.simulator.advance(step.hours * _HOUR_S)
        return True

    def _bill(self, step: Bill) -> None:
        account = self._world.service_file.provider.key
        for order in self._cast.chosen(step.orders):
            invoice = Invoice(
                f"in_{order.reference}",
                account,
                order.reference,
                order.amount_minor,
                order.currency,
                order.customer,
            )
            for _ in range(step.copies):
                self._world.simulator.bill(invoice)

    def _resend(self, step: Resend) -> bool:
        simulator = self._world.simulator
        chosen = {order.reference for order in self._cast.chosen(step.orders)}
        events = [each for each in simulator.provider.events.values() if each.order in chosen]
        for event in events:
            simulator.duplicate(
                event.id, copies=step.copies, concurrent=step.at_once, new_id=step.new_id
            )
        return bool(events)

    async def _crash_database(self, step: CrashDatabase) -> None:
        postgres = self._world.postgres
        assert postgres is not None, "asked for before: a scenario that needs it does not apply"
        self._recorder(Entry("database", "crash", {"what": "database"}))
        await postgres.restart(down_s=step.down_ms / 1000)
        self._recorder(Entry("database", "restart", {"what": "database"}))

    async def _settle(self) -> bool:
        """Wait until every customer knows how it ended and nothing moves; tell whether it came.

        Customers ask again as they do when it heals. News is brought forward as well, but seldom:
        most attempts of the provider's schedule are left to healing.
        """
        insistence = Insistence(
            self._world,
            self._customers,
            own=[order.reference for order in self._cast.all],
            first_wait_s=self._bound_s / _SOONER,
        )
        async with at_most(self._bound_s), insistence:
            while any(map(insistence.waits_for, self._pressed.values())):
                insistence.go_on(self._pressed.values())
                await asyncio.sleep(LOOK_AGAIN_S)
        await settled(self._world, [self._recorder], self._bound_s)
        return all(order.settled for order in self._pressed.values())


async def settled(world: World, recorders: Sequence[Recorder], bound_s: float) -> None:
    """Wait until nothing moves: no delivery is under way, and nothing is written down."""
    async with at_most(bound_s):
        while world.simulator.attempts_under_way() or not all(
            recorder.silent_for(QUIET_S / 2) for recorder in recorders
        ):
            await asyncio.sleep(LOOK_AGAIN_S)


async def _all(works: Any) -> None:
    """Do all of it at once; what goes wrong with one is told when all have ended."""
    await asyncio.gather(*works)
