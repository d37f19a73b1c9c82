"""Scenarios, phase by phase: faults, heal, quiet, read back. Judging happens elsewhere.

Rule 1: safety is put to the test while faults are on; liveness only after they stopped.
Rule 2: everything planned for the fault phase is over before healing begins.
Rule 3: what is learned is written to the history and judged from there alone.
Rule 4: scenarios side by side have orders, rules and histories of their own and the phases in
        common: what one does, none of the others sees in its history.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, get_args

from onecharge.acts import Acts, settled
from onecharge.cast import Cast
from onecharge.healing import Healing, announce_phase, heal
from onecharge.history.case import Claim
from onecharge.history.recorder import Recorder
from onecharge.history.records import Record
from onecharge.press import Order
from onecharge.scenario_file import Scenario
from onecharge.service_file import ServiceFile
from onecharge.steps import PressAgain
from onecharge.variants import why_not
from onecharge.watch import Seen, Watch
from onecharge.world.customers import Customers
from onecharge.world.executioner import Executioner, gate_of
from onecharge.world.world import World
from simulator.catalogue import dialects
from simulator.core.journal import Entry, Sink
from simulator.core.rules import Rule


class Play:
    """A scenario about to be played, being played, or over: its cast and its history.

    ``label`` is what its history is called, and decides the ids of its orders; a scenario that
    is played once more in the same world needs another one. ``repeat`` is the command that plays
    it again: the history keeps it for every later report. ``on_seen`` hears of the first violation
    of every invariant that can be seen while it happens, with the record that shows it.
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
        on_seen: Callable[[Seen], None] | None = None,
    ) -> None:
        self.scenario = scenario
        self.label = label or scenario.name
        self.repeat = repeat
        self.bound_s = bound_s
        self.cast = Cast(world.service_file, scenario.file, self.label, seed, mark=world.mark)
        self.recorder = Recorder()
        self.world = world
        self._seed = seed
        self._on_seen = on_seen
        self.customers: Customers

    def __repr__(self) -> str:
        return f"<Play {self.label}, {self.recorder!r}>"

    def rules(self, *, side_by_side: bool) -> list[Rule]:
        """Return what goes wrong; side by side, for its own orders only and under its own name."""
        lease_s = self.world.service_file.provider.lease_s
        rules = self.scenario.rules(self.cast.references, lease_s=lease_s)
        if not side_by_side:
            return rules
        own = tuple(order.reference for order in self.cast.all)
        return [
            replace(
                rule,
                name=f"{self.scenario.name}/{rule.name}",
                orders=() if rule.order is not None else rule.orders or own,
            )
            for rule in rules
        ]

    def gates(self) -> list[Rule]:
        """Return the rules that hold the calls during which somebody is to die."""
        gates = (gate_of(name, kill, self.cast.references) for name, kill in self.scenario.kills())
        return [gate for gate in gates if gate is not None]

    def begin(self, recorder: Recorder, rules: Sequence[Rule]) -> None:
        """Write from now on to this history what the play is about and what becomes of it."""
        self.recorder = recorder
        if self._on_seen is not None:
            recorder.subscribe(_watching(self._on_seen))
        self.customers = Customers.in_world(self.world, recorder)
        announce(
            recorder,
            self.world.service_file,
            self.cast.all,
            scenario=self.scenario.name,
            title=self.scenario.file.title,
            seed=self._seed,
            fair=self.scenario.fair,
            exercises=list(self.scenario.file.exercises),
            claimed=list(self.scenario.file.claimed),
            plan=self.scenario.plan_with(rules),
            settles_within_s=self.bound_s,
            repeat=self.repeat,
        )
        announce_phase(recorder, "faults")

    def executioner(self) -> Executioner:
        """Return who kills as the scenario plans it."""
        kills = dict(self.scenario.kills())
        return Executioner(self.world, self.recorder, kills, self.cast.references)

    def acts(self) -> Acts:
        """Return what carries out its steps."""
        return Acts(
            self.world,
            self.recorder,
            self.customers,
            self.scenario,
            self.cast,
            bound_s=self.bound_s,
        )

    def healing(self, *, side_by_side: bool) -> Healing:
        """Return what brings its orders to rest and reads back what came of them."""
        return Healing(
            self.world,
            self.recorder,
            self.customers,
            self.cast.all,
            self.bound_s,
            only_own=side_by_side,
            billed=self.cast.billed,
        )


def _watching(tell: Callable[[Seen], None]) -> Callable[[Record], None]:
    """Return what looks at each record and tells of the first violation of every invariant."""
    watch, told = Watch(), set[str]()

    def look(record: Record) -> None:
        seen = watch.see(record)
        if seen is not None and seen.invariant not in told:
            told.add(seen.invariant)
            tell(seen)

    return look


async def perform(world: World, plays: Sequence[Play], seed: int) -> None:
    """Play one scenario, or several side by side, through every phase up to the last reading."""
    side_by_side = len(plays) > 1
    recorders = world.begin_histories({play.label: play.cast.family for play in plays})
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
        await asyncio.gather(*(play.acts().through() for play in plays))
        # The events already born arrive while the faults on their way still stand.
        await settled(world, [play.recorder for play in plays], max(p.bound_s for p in plays))
    await asyncio.gather(*(executioner.restarts() for executioner in executioners))
    await heal(world, [play.healing(side_by_side=side_by_side) for play in plays])


def lacking_for(
    scenario: Scenario, service_file: ServiceFile, *, own_database: bool
) -> tuple[str, ...]:
    """Return what it would take to play a scenario, and a service or its world has not."""
    there = service_file.abilities.model_dump() | {"own_database": own_database}
    there["invoices"] &= dialects()[service_file.provider.dialect].bills
    there |= {claim: claim in service_file.claims for claim in get_args(Claim)}
    presses = (step.variant for step in scenario.file.steps if isinstance(step, PressAgain))
    unlike = (f"{each}: {why}" for each in presses if (why := why_not(each, service_file)))
    return (*sorted(need for need in scenario.needs if not there[need]), *dict.fromkeys(unlike))


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
