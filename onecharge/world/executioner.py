"""The executioner kills a process of the service at a planned point of a provider call.

A kill is planned as a gate: the provider holds the call at the seam, the caller is killed while
it waits, and the gate opens because the caller is gone. So the point is exact, in any language.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from onecharge.history.recorder import Recorder
from onecharge.history.records import Record
from onecharge.scenario_file import Kill
from onecharge.world.world import World
from simulator.catalogue import rule_from
from simulator.core.journal import FAULT
from simulator.core.rules import Rule
from simulator.gates import HeldCall


def gate_of(name: str, kill: Kill, references: Mapping[int, str]) -> Rule:
    """Return the rule that holds the call during which its caller is to die."""
    table: dict[str, Any] = {
        "name": name,
        "fault": "hold",
        "operation": kill.operation,
        "seam": kill.at,
        "until": "caller_gone",
        "nth": kill.nth,
        "times": 1,
    }
    if kill.order is not None:
        table["order"] = references[kill.order]
    return rule_from(table)


class Executioner:
    """Kills the instance whose provider call is held by a kill's gate, and has it come back."""

    def __init__(self, world: World, recorder: Recorder, kills: Mapping[str, Kill]) -> None:
        self._world = world
        self._recorder = recorder
        self._kills = kills
        self._sentenced: dict[str, Kill] = {}
        self._restarting: list[asyncio.Task[None]] = []

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Watch the gates for as long as the context lasts."""
        gates = self._world.simulator.gates
        deaf = self._recorder.subscribe(self._hear)
        gates.on_park.append(self._strike)
        try:
            yield
        finally:
            gates.on_park.remove(self._strike)
            deaf()

    async def restarts(self) -> None:
        """Wait until everybody killed is back."""
        await asyncio.gather(*self._restarting)

    def _hear(self, record: Record) -> None:
        """Sentence the caller of a call that a kill's own gate is about to hold."""
        if record.lane == FAULT and record.what == "fired":
            kill = self._kills.get(record.value["rule"])
            if kill is not None:
                self._sentenced[record.value["call"]] = kill

    def _strike(self, held: HeldCall) -> None:
        kill = self._sentenced.pop(held.call, None)
        if kill is None:
            return
        name = self._world.services.serving(held.source)
        if name != held.source:
            # A customer's browser calls and lives on; the service dies while it waits.
            self._world.simulator.gates.release(held.call)
        self._world.services.kill(name)
        self._restarting.append(
            asyncio.create_task(self._bring_back(name, kill.restart_after_ms / 1000))
        )

    async def _bring_back(self, name: str, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self._world.services.restart(name)
