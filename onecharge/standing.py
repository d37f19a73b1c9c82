"""A world that stands by itself, for load drivers that cannot live on our event loop.

It is a child process that speaks JSON lines. It prints ``{"ready": {…}}`` when everything runs,
waits for the word ``judge`` on standard input, heals, judges, and prints ``{"verdict": {…}}``.
When its standard input closes it stops everything, judged or not.

Rule 1: drivers write what customers were told into history segments of their own, in the folder
        that ``ready`` names; the verdict is over all segments, merged by time.
Rule 2: the money is judged by the provider's ledger, whatever the drivers wrote.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from onecharge.control import clean_control
from onecharge.healing import Healing, announce_phase, heal
from onecharge.history.reading import merge, read_segment
from onecharge.history.records import Record
from onecharge.loops import run_to_end
from onecharge.mistakes import USERS_MISTAKES
from onecharge.phases import announce
from onecharge.press import Order
from onecharge.report.outputs import Outputs
from onecharge.scenario_file import Scenario, named_scenario
from onecharge.stored_run import PAGE, SEGMENTS, VERDICT, stored_run
from onecharge.targets import Target, target
from onecharge.verdict import RunVerdict, combine, judge_scenario
from onecharge.verify import new_run_folder
from onecharge.world.customers import Customers
from onecharge.world.world import World, standing
from simulator.redaction import without_secrets

JUDGE: Final = "judge"


class Standing:
    """A world under load from outside, from the clean control to the verdict."""

    def __init__(self, wanted: Target, scenario: Scenario, seed: int, repeat: str) -> None:
        self._wanted = wanted
        self._scenario = scenario
        self._seed = seed
        self._repeat = repeat
        self._folder = new_run_folder(seed)
        self._segments = (self._folder / SEGMENTS).resolve()
        self._segments.mkdir()
        self._reports = Outputs(json=self._folder / VERDICT, html=self._folder / PAGE)

    async def until_judged(self) -> None:
        """Stand until the driver has had its verdict, or is gone."""
        began_s = time.monotonic()
        words = await _words()
        async with standing(
            self._wanted.service_file,
            self._folder,
            seed=self._seed,
            mutant=self._wanted.mutant,
            server_url=os.environ.get("DATABASE_URL"),
        ) as world:
            bound_s = await self._make_ready(world)
            if await words.readline() != f"{JUDGE}\n".encode():
                return
            await self._heal(world, bound_s)
            verdict = self._verdict(world, began_s)
            for trouble in self._reports.write(verdict, stored_run(str(self._folder))):
                sys.stderr.write(f"onecharge: {trouble}\n")
            _say(verdict=verdict.to_json(), folder=str(self._folder))
            await words.read()

    async def _make_ready(self, world: World) -> float:
        passed = await clean_control(world, self._seed)
        bound_s = passed.bound_s(self._wanted.service_file.timing.settles_within_s)
        world.begin_history(self._scenario.name)
        announce(
            world.recorder,
            world.service_file,
            [],
            scenario=self._scenario.name,
            title=self._scenario.file.title,
            seed=self._seed,
            fair=self._scenario.fair,
            claimed=list(self._scenario.file.claimed),
            plan=self._scenario.plan({}),
            settles_within_s=bound_s,
            repeat=self._repeat,
        )
        announce_phase(world.recorder, "faults")
        world.simulator.arm(self._scenario.rules({}), seed=self._seed)
        _say(
            ready={
                "urls": world.services.urls,
                "segments": str(self._segments),
                "service_file": str(self._wanted.path.resolve()),
                "folder": str(self._folder),
            }
        )
        return bound_s

    async def _heal(self, world: World, bound_s: float) -> None:
        orders = list(orders_in(self._told(), self._wanted.service_file.tenants))
        customers = Customers.in_world(world, world.sink, lane="healer")
        await heal(world, [Healing(world, world.recorder, customers, orders, bound_s)])

    def _verdict(self, world: World, began_s: float) -> RunVerdict:
        path = world.recorder.path
        assert path is not None
        segments = [read_segment(file) for file in [path, *self._segments.glob("*.jsonl")]]
        judged = judge_scenario(merge(segments), repeat=self._repeat, trouble=world.recorder.lost)
        return combine([judged], seed=self._seed, duration_s=time.monotonic() - began_s)

    def _told(self) -> Iterable[Record]:
        """Return what the drivers' customers did and heard, one driver after the other."""
        for file in sorted(self._segments.glob("*.jsonl")):
            yield from read_segment(file).records


def orders_in(records: Iterable[Record], tokens: dict[str, str]) -> Iterable[Order]:
    """Return the orders that customers sent, each with the outcome that settled it, if any did."""
    orders: dict[str, Order] = {}
    for record in records:
        if record.what == "prepare":
            continue
        assert record.order is not None, "a driver's record without an order"
        if record.kind == "invoke" and record.order not in orders:
            assert record.key is not None, "a driver's order without a key"
            tenant = record.tenant or ""
            orders[record.order] = Order(
                serial=len(orders) + 1,
                reference=record.order,
                key=record.key,
                amount_minor=record.value["amount_minor"],
                currency=record.value["currency"],
                customer=record.value["customer"],
                tenant=tenant,
                token=tokens[tenant],
            )
        elif record.what == "answer" and not orders[record.order].settled:
            orders[record.order].outcome = record.value["outcome"]
            orders[record.order].charge = record.value["charge"]
    return orders.values()


async def _words() -> asyncio.StreamReader:
    """Return our standard input as a stream of lines."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(without_secrets(what)) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Stand for a driver; a user's mistake is one JSON line ``{"mistake": …}`` and exit code 2."""
    parser = argparse.ArgumentParser(prog="python -m onecharge.standing")
    parser.add_argument("--service", type=Path)
    parser.add_argument("--mutant")
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", required=True)
    asked = parser.parse_args()
    try:
        wanted = target(asked.service, asked.mutant)
        stand = Standing(wanted, named_scenario(asked.scenario), asked.seed, asked.repeat)
        run_to_end(stand.until_judged())
    except USERS_MISTAKES as mistake:
        _say(mistake=str(mistake))
        sys.exit(2)


if __name__ == "__main__":
    main()
