"""The executioner kills processes of the service at planned points.

Rule 1: at a provider call a kill is a gate: the provider holds the call at the seam, the caller is
        killed while it waits, and the gate opens because the caller is gone. So the point is
        exact, in any language.
Rule 2: at the other points, what is written down is the sign: a request that leaves, an answer
        that came, an event that was acknowledged.
Rule 3: a kill strikes once, and is written down as a fault that fired.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from onecharge.history.recorder import Recorder
from onecharge.history.records import Record
from onecharge.scenario_file import SEAMS, Kill
from onecharge.world.world import World
from simulator.catalogue import rule_from
from simulator.core.journal import FAULT, Entry
from simulator.core.rules import Rule
from simulator.gates import HeldCall


def gate_of(name: str, kill: Kill, references: Mapping[int, str]) -> Rule | None:
    """Return the rule that holds the call during which its caller is to die, if it is one."""
    seam = SEAMS.get(kill.at)
    if seam is None:
        return None
    table: dict[str, Any] = {
        "name": name,
        "fault": "hold",
        "operation": kill.operation,
        "seam": seam,
        "until": "caller_gone",
        "nth": kill.nth,
        "times": 1,
    }
    if kill.order is not None:
        table["order"] = references[kill.order]
    return rule_from(table)


class Executioner:
    """Kills processes as planned, and has them come back."""

    def __init__(
        self,
        world: World,
        recorder: Recorder,
        kills: Mapping[str, Kill],
        references: Mapping[int, str],
    ) -> None:
        self._world = world
        self._recorder = recorder
        self._kills = kills
        self._references = references
        self._waiting = {name: kill.nth for name, kill in kills.items() if kill.at not in SEAMS}
        self._sentenced: dict[str, Kill] = {}
        self._under_way: list[asyncio.Task[None]] = []

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Watch the gates and what is written down for as long as the context lasts."""
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
        await asyncio.gather(*self._under_way)

    def _hear(self, record: Record) -> None:
        if record.lane == FAULT and record.what == "fired":
            self._sentence(record)
            return
        for name in [name for name in self._waiting if self._is_met(self._kills[name], record)]:
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._waiting[name]
                self._carry_out(name, record)

    def _sentence(self, record: Record) -> None:
        """Sentence the caller of a call that a kill's own gate is about to hold."""
        kill = self._kills.get(record.value["rule"])
        if kill is not None and kill.at in SEAMS:
            self._sentenced[record.value["call"]] = kill

    def _strike(self, held: HeldCall) -> None:
        kill = self._sentenced.pop(held.call, None)
        if kill is None:
            return
        name = self._world.services.serving(held.source)
        if name != held.source:
            # A customer's browser calls and lives on; the service dies while it waits.
            self._world.simulator.gates.release(held.call)
        self._die([name], kill)

    def _is_met(self, kill: Kill, record: Record) -> bool:
        """Tell whether somebody has come to the point of a kill."""
        if kill.order is not None and record.order != self._references[kill.order]:
            return False
        by_customer = record.lane.startswith("client:")
        match kill.at:
            case "request_received":
                return by_customer and (record.kind, record.what) == ("invoke", "charge")
            case "answered":
                return by_customer and record.what == "answer" and record.kind in {"ok", "fail"}
            case "event_acknowledged":
                return record.lane == "webhook" and record.kind == "ok"
            case _:  # a gate meets it
                return False

    def _carry_out(self, name: str, record: Record) -> None:
        kill = self._kills[name]
        value = {"what": "fired", "rule": name, "fault": "kill", "seam": kill.at}
        self._recorder(Entry(FAULT, "effect", value, record.order, record.tenant, record.key))
        delay_s = kill.after_ms / 1000 if kill.at == "request_received" else 0.0
        self._die(self._victims(kill, record), kill, delay_s)

    def _victims(self, kill: Kill, record: Record) -> list[str]:
        """Return who is to die, once somebody has come to the point of a kill."""
        services = self._world.services
        if kill.at == "event_acknowledged":
            return services.names
        asked = record if record.kind == "invoke" else self._recorder.records[record.cause or 0]
        return [services.listening_at(asked.value["instance"])]

    def _die(self, names: list[str], kill: Kill, delay_s: float = 0.0) -> None:
        if not delay_s:
            for name in names:
                self._world.services.kill(name)
        life = self._die_and_come_back(names, delay_s, kill.restart_after_ms / 1000)
        self._under_way.append(asyncio.create_task(life))

    async def _die_and_come_back(self, names: list[str], delay_s: float, down_s: float) -> None:
        if delay_s:
            await asyncio.sleep(delay_s)
            for name in names:
                self._world.services.kill(name)
        await asyncio.sleep(down_s)
        await asyncio.gather(*map(self._world.services.restart, names))
