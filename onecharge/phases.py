"""Scenarios, phase by phase: faults, heal, quiet, read back. Judging happens elsewhere.

Rule 1: safety is put to the test while faults are on; liveness only after they stopped.
Rule 2: everything planned for the fault phase is over before healing begins.
Rule 3: what is learned is written to the history and judged from there alone.
Rule 4: scenarios side by side have orders, rules and histories of their own and the phases in
        common: what one does, none of the others sees in its history.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from onecharge.healing import LOOK_AGAIN_S, QUIET_S, Healing, announce_phase, at_most, heal
from onecharge.history.recorder import Recorder
from onecharge.press import Order
from onecharge.scenario_file import Scenario, plan_of
from onecharge.service_file import ServiceFile
from onecharge.world.customers import Customers
from onecharge.world.executioner import Executioner, gate_of
from onecharge.world.orders import family_of, orders_of
from onecharge.world.world import World
from simulator.core.journal import Entry, Sink
from simulator.core.rules import Rule


class Play:
    """A scenario about to be played, being played, or over: its orders and its history.

    ``label`` is what its history is called, and decides the ids of its orders; a scenario that
    is played once more in the same world needs another one. ``repeat`` is the command that plays
    it again: the history keeps it for every later report.
    """

    def __init__(
        self,
        world: World,
        scenario: Scenario,
        seed: int,
        bound_s: float,
        *,
        label: str = "",
        repeat: str = "",
    ) -> None:
        self.scenario = scenario
        self.label = label or scenario.name
        self.repeat = repeat
        self.recorder = Recorder()
        self._world = world
        self._seed = seed
        self.bound_s = bound_s
        self._orders = orders_of(world.service_file, self.label, scenario.file.orders, seed)
        self._customers: Customers

    def __repr__(self) -> str:
        return f"<Play {self.label}, {self.recorder!r}>"

    @property
    def family(self) -> str:
        """What the references of its orders have in common."""
        return family_of(self._orders[0].reference)

    @property
    def references(self) -> dict[int, str]:
        """The references of its orders, by serial."""
        return {order.serial: order.reference for order in self._orders}

    def rules(self, *, side_by_side: bool) -> list[Rule]:
        """Return what goes wrong; side by side, for its own orders only and under its own name."""
        rules = self.scenario.rules(self.references)
        if not side_by_side:
            return rules
        own = tuple(self.references.values())
        return [
            replace(
                rule,
                name=f"{self.scenario.name}/{rule.name}",
                orders=() if rule.order is not None else rule.orders or own,
            )
            for rule in rules
        ]

    def begin(self, recorder: Recorder, rules: Sequence[Rule]) -> None:
        """Write from now on to this history what the play is about and what becomes of it."""
        self.recorder = recorder
        self._customers = Customers.in_world(self._world, recorder)
        announce(
            recorder,
            self._world.service_file,
            self._orders,
            scenario=self.scenario.name,
            title=self.scenario.file.title,
            seed=self._seed,
            fair=self.scenario.fair,
            plan=plan_of(rules, self.scenario.kills()),
            settles_within_s=self.bound_s,
            repeat=self.repeat,
        )
        announce_phase(recorder, "faults")

    def executioner(self) -> Executioner:
        """Return who kills as the scenario plans it."""
        return Executioner(self._world, self.recorder, dict(self.scenario.kills()))

    def gates(self) -> list[Rule]:
        """Return the rules that hold the calls during which somebody is to die."""
        return [gate_of(name, kill, self.references) for name, kill in self.scenario.kills()]

    async def pay(self) -> None:
        """Let every customer press *Pay*, until a definite answer or resignation."""
        customer = self.scenario.file.customer
        await asyncio.gather(*(self._customers.pay(order, customer) for order in self._orders))

    def healing(self, *, side_by_side: bool) -> Healing:
        """Return what brings its orders to rest and reads back what came of them."""
        return Healing(
            self._world,
            self.recorder,
            self._customers,
            self._orders,
            self.bound_s,
            only_own=side_by_side,
        )


async def perform(world: World, plays: Sequence[Play], seed: int) -> None:
    """Play one scenario, or several side by side, through every phase up to the last reading."""
    side_by_side = len(plays) > 1
    recorders = world.begin_histories({play.label: play.family for play in plays})
    armed: list[Rule] = []
    with ExitStack() as on_duty:
        executioners = []
        for play in plays:
            rules = play.rules(side_by_side=side_by_side)
            play.begin(recorders[play.label], rules)
            armed += [*rules, *play.gates()]
            executioners.append(play.executioner())
            on_duty.enter_context(executioners[-1].on_duty())
        world.simulator.arm(armed, seed=seed)
        await asyncio.gather(*(play.pay() for play in plays))
        await _deliveries_under_way(world, plays)
    await asyncio.gather(*(executioner.restarts() for executioner in executioners))
    await heal(world, [play.healing(side_by_side=side_by_side) for play in plays])


async def _deliveries_under_way(world: World, plays: Sequence[Play]) -> None:
    """Let the events already born arrive while the faults on their way still stand."""
    async with at_most(max(play.bound_s for play in plays)):
        while world.simulator.attempts_under_way() or not all(
            play.recorder.silent_for(QUIET_S / 2) for play in plays
        ):
            await asyncio.sleep(LOOK_AGAIN_S)


def announce(sink: Sink, service_file: ServiceFile, orders: Sequence[Order], **facts: Any) -> None:
    """Write the record from which a judge learns what the history is about."""
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
    sink(Entry("judge", "invoke", value))


def _planted(order: Order) -> dict[str, Any]:
    return {
        "order": order.reference,
        "tenant": order.tenant,
        "key": order.key,
        "amount_minor": order.amount_minor,
        "currency": order.currency,
        "customer": order.customer,
    }
