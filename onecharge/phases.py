"""One scenario, phase by phase: faults, heal, quiet, read back. Judging happens elsewhere.

Rule 1: safety is put to the test while faults are on; liveness only after they stopped.
Rule 2: everything planned for the fault phase is over before healing begins.
Rule 3: what is learned is written to the history and judged from there alone.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from onecharge.healing import LOOK_AGAIN_S, QUIET_S, Healing, at_most
from onecharge.press import Order
from onecharge.scenario_file import Scenario
from onecharge.world.customers import Customers
from onecharge.world.executioner import Executioner, gate_of
from onecharge.world.orders import orders_of
from onecharge.world.world import World
from simulator.core.journal import Entry


class Play:
    """A scenario being played in a world, whose history is the world's current one."""

    def __init__(self, world: World, scenario: Scenario, seed: int, bound_s: float) -> None:
        self._world = world
        self._scenario = scenario
        self._seed = seed
        self._bound_s = bound_s
        self._orders = orders_of(world.service_file, scenario.name, scenario.file.orders, seed)
        self._customers = Customers.in_world(world, world.sink)
        self._executioner = Executioner(world, dict(scenario.kills()))

    async def through(self) -> None:
        """Play every phase up to the last reading."""
        references = {order.serial: order.reference for order in self._orders}
        announce(
            self._world,
            self._orders,
            scenario=self._scenario.name,
            title=self._scenario.file.title,
            seed=self._seed,
            fair=self._scenario.fair,
            plan=self._scenario.plan(references),
            settles_within_s=self._bound_s,
        )
        self._world.phase("faults")
        rules = self._scenario.rules(references)
        rules += [gate_of(name, kill, references) for name, kill in self._scenario.kills()]
        self._world.simulator.arm(rules, seed=self._seed)
        with self._executioner.on_duty():
            await self._pay()
            await self._deliveries_under_way()
        await self._executioner.restarts()
        await Healing(self._world, self._customers, self._orders, self._bound_s).through()

    async def _pay(self) -> None:
        customer = self._scenario.file.customer
        await asyncio.gather(*(self._customers.pay(order, customer) for order in self._orders))

    async def _deliveries_under_way(self) -> None:
        """Let the events already born arrive while the faults on their way still stand."""
        async with at_most(self._bound_s):
            while self._world.simulator.attempts_under_way() or not self._world.silent_for(
                QUIET_S / 2
            ):
                await asyncio.sleep(LOOK_AGAIN_S)


def announce(world: World, orders: Sequence[Order], **facts: Any) -> None:
    """Write the record from which a judge learns what the history is about."""
    service_file = world.service_file
    value = {
        "what": "run",
        **facts,
        "service": service_file.service.name,
        "capabilities": service_file.capabilities.model_dump(),
        "claims": list(service_file.claims),
        "stable_fields": list(service_file.charge.answer.stable_fields),
        "orders": [_planted(order) for order in orders],
        "keys": {order.key: order.reference for order in orders},
    }
    world.sink(Entry("judge", "invoke", value))


def _planted(order: Order) -> dict[str, Any]:
    return {
        "order": order.reference,
        "tenant": order.tenant,
        "key": order.key,
        "amount_minor": order.amount_minor,
        "currency": order.currency,
        "customer": order.customer,
    }
