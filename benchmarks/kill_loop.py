"""SIGKILL at any moment: four processes, thirty-two clients, a provider that goes wrong.

    python benchmarks/kill_loop.py                 300 kills, PostgreSQL crashes three times
    python benchmarks/kill_loop.py --kills 20 --crashes 0 --json figures.json

As soon as all processes are ready again and at work, one of them is killed. Clients go on asking
with the same key until they have a final answer; one order in five is then refunded. Afterwards
the faults stop, and what the provider's own ledger says is held against what the service says.

Exit 0 if no order was charged or refunded twice, none was lost, every order settled and the
service's ledger equals the provider's; 1 otherwise.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import aiohttp
import psycopg
from figures import Figures

from onecharge.world.ports import free_port
from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor
from simulator.catalogue import rules_from
from simulator.core.journal import Journal
from simulator.server import Simulator

ROOT = Path(__file__).parents[1]
SECRET = "whsec_dGhlIGtpbGwgbG9vcCdzIG93biBzZWNyZXQ="  # noqa: S105 - a fake provider's
TOKEN = "shop"  # noqa: S105
PROCESSES = 4
CLIENTS = 32
AT_WORK = 4
"""A kill waits for so many final answers, or it would only ever hit processes that warm up."""
SETTLES_WITHIN_S = 60
REFUNDED = 0.2
POLL_S = 0.01
MUST_BE_NONE = (
    "double_charges",
    "double_refunds",
    "lost",
    "unsettled",
    "ledger_differences",
    "events_given_up",
)

FAULTS: list[dict[str, object]] = [
    {"fault": "lose_reply", "operation": "*", "probability": 0.05},
    {"fault": "error_after_commit", "operation": "*", "probability": 0.03},
    {"fault": "error_before_commit", "operation": "*", "probability": 0.03},
    {"fault": "reset_before_commit", "operation": "*", "probability": 0.03},
    {"fault": "garbage_reply", "operation": "*", "probability": 0.02},
    {"fault": "time_out_after_commit", "operation": "*", "probability": 0.01},
    {"fault": "deliver_before_reply", "operation": "*", "probability": 0.05},
    {"fault": "redeliver", "operation": "delivery", "probability": 0.1},
]


class NotReady(Exception):
    """The processes did not come back; the message is what they said last."""


@dataclass
class World:
    """All that runs, and what the clients have been told."""

    simulator: Simulator
    journal: Journal
    postgres: Postgres
    database_url: str
    address: str
    log: TextIO
    client: aiohttp.ClientSession
    chance: random.Random
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    stopping: bool = False

    # --- clients --------------------------------------------------------------------------

    async def shop(self, number: int) -> None:
        """Place one order after the other, each until it has a final answer."""
        serial = 0
        while not self.stopping:
            serial += 1
            order = f"ord-{number}-{serial}"
            wish = {"order": order, "amount_minor": 100 + serial % 900, "currency": "EUR"}
            charged = await self.ask("/charges", f"{order}", wish | {"customer": f"cus-{number}"})
            self.told[order] = charged
            if charged.get("status") == "succeeded" and self.chance.random() < REFUNDED:
                path = f"/charges/{charged['id']}/refunds"
                self.told[f"{order} refund"] = await self.ask(path, order, {"amount_minor": 50})
            await asyncio.sleep(self.chance.random() * 0.05)

    async def ask(self, path: str, key: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send the same request until the answer is final."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": key}
        while True:
            try:
                async with self.client.post(
                    self.address + path, headers=headers, json=body
                ) as response:
                    answer: dict[str, Any] = await response.json(content_type=None)
                    self.answers[str(response.status)] += 1
                    if response.status in {201, 402}:
                        return answer
                    assert response.status in {202, 409, 500, 503}, (response.status, answer)
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                self.answers[type(error).__name__] += 1
            await asyncio.sleep(0.02 + self.chance.random() * 0.1)

    # --- the executioner ------------------------------------------------------------------

    async def kill(self, kills: int, crashes: int) -> None:
        """Kill so many processes, each when all are ready, and crash PostgreSQL meanwhile."""
        crash_after = {round(kills * (n + 1) / (crashes + 1)) for n in range(crashes)}
        for number in range(1, kills + 1):
            seen = len(self.told)
            victim = await self.ready_worker()
            while len(self.told) < seen + AT_WORK:
                await asyncio.sleep(POLL_S)
            os.kill(victim, signal.SIGKILL)
            self._ready.discard(victim)
            if number in crash_after:
                await self.postgres.restart()
        await self.ready_worker()

    async def ready_worker(self) -> int:
        """Wait until all processes are ready; return the id of one of them."""
        try:
            async with asyncio.timeout(SETTLES_WITHIN_S):
                while len(self._ready) < PROCESSES:
                    await asyncio.sleep(POLL_S)
                    self._read_log()
        except TimeoutError:
            raise NotReady("\n".join(self._complaints[-20:])) from None
        return self.chance.choice(sorted(self._ready))

    def _read_log(self) -> None:
        *lines, self._unfinished = (self._unfinished + self.log.read()).split("\n")
        for line in lines:
            if '"listening"' in line:
                self._ready.add(json.loads(line)["pid"])
            elif '"level": "info"' not in line:
                self._complaints.append(line)

    _unfinished: str = ""
    _ready: set[int] = field(default_factory=set)
    _complaints: list[str] = field(default_factory=list)

    # --- the judge ------------------------------------------------------------------------

    async def settled(self) -> int:
        """Wait until nothing is open; return how many operations still were when time was up."""
        try:
            async with asyncio.timeout(SETTLES_WITHIN_S):
                while await self.count(
                    "select count(*) from operations where status = 'in_flight'"
                ):
                    await asyncio.sleep(0.05)
                while self.simulator.undelivered():
                    # A step of the schedule at a time, or the provider would give up before us.
                    if not self.simulator.attempts_under_way():
                        self.simulator.hasten_deliveries()
                    await asyncio.sleep(0.2)
        except TimeoutError:
            return await self.count("select count(*) from operations where status = 'in_flight'")
        return 0

    async def count(self, query: str) -> int:
        [[number]] = await self.rows(query)
        return int(number)

    async def rows(self, query: str) -> Sequence[Sequence[Any]]:
        async with await psycopg.AsyncConnection.connect(self.database_url) as connection:
            return await (await connection.execute(query.encode())).fetchall()

    async def figures(self) -> dict[str, float]:
        """Hold the provider's ledger against what clients were told and the service booked."""
        unsettled = await self.settled()
        taken: Counter[str] = Counter()
        back: Counter[str] = Counter()
        at_provider: Counter[tuple[str, str, int]] = Counter()
        for entry in self.journal.entries:
            what = entry.value.get("what") if entry.kind == "effect" else None
            if what in {"charge.captured", "charge.refunded"}:
                assert entry.order is not None
                kind = "charge" if what == "charge.captured" else "refund"
                (taken if kind == "charge" else back)[entry.order] += 1
                at_provider[entry.order, kind, entry.value["amount_minor"]] += 1
        booked = Counter(
            {
                (order, kind, amount): times
                for order, kind, amount, times in await self.rows(
                    'select o."order", l.kind, l.amount_minor, count(*) from ledger l'
                    " join operations o on o.id = l.charge_id group by 1, 2, 3"
                )
            }
        )
        orders = [order for order in self.told if " " not in order]
        paid = {order for order in orders if self.told[order].get("status") == "succeeded"}
        refunded = {name.split()[0] for name in self.told if " " in name} & {
            name.split()[0] for name, told in self.told.items() if told.get("status") == "succeeded"
        }
        differences = (at_provider - booked) + (booked - at_provider)
        for difference in differences:
            print("not in both ledgers:", difference)
        deliveries = self.simulator.provider.deliveries.by_id.values()
        lost = [order for order in orders if (order in paid) != (taken[order] > 0)]
        return {
            "orders": len(orders),
            "refunds": len(refunded),
            "double_charges": sum(times - 1 for times in taken.values() if times > 1),
            "double_refunds": sum(times - 1 for times in back.values() if times > 1),
            "lost": len(lost),
            "unsettled": unsettled,
            "ledger_differences": sum(differences.values()),
            "events_given_up": sum(not delivery.acknowledged for delivery in deliveries),
        }


@asynccontextmanager
async def world(seed: int) -> AsyncIterator[World]:
    """Start the provider, PostgreSQL and the service, and end them all."""
    journal = Journal()
    simulator = Simulator(sink=journal, seed=seed, delivery_timeout_s=10)
    await simulator.start()
    with tempfile.TemporaryDirectory(prefix="kill-loop-") as name:
        folder = Path(name)
        async with (
            await Supervisor.start() as supervisor,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as client,
        ):
            postgres = await Postgres.start(supervisor, folder)
            database_url = await postgres.create_database("shop")
            port, log = free_port(), folder / "service.log"
            environment = {
                "PATH": os.defpath,
                "PYTHONPATH": str(ROOT),
                "PORT": str(port),
                "WORKERS": str(PROCESSES),
                "DATABASE_URL": database_url,
                "PROVIDER_URL": simulator.url(),
                "PROVIDER_API_KEY": "sk_test",
                "WEBHOOK_SECRET": SECRET,
                "PROVIDER_TIMEOUT_S": "1",
                "LEASE_S": "1.5",
                "RECONCILE_EVERY_S": "0.5",
                "RECONCILE_AT_LEAST_EVERY_S": "2",
            }
            argv = (sys.executable, "-m", "reference_impl")
            await supervisor.spawn("service", argv, env=environment, cwd=folder, log=log)
            address = f"http://127.0.0.1:{port}"
            simulator.add_endpoint(f"{address}/webhooks/provider", SECRET)
            with log.open() as said:
                chance = random.Random(seed)
                yield World(
                    simulator, journal, postgres, database_url, address, said, client, chance
                )
            await supervisor.stop("service")
    await simulator.stop()


async def run(kills: int, crashes: int, seed: int) -> dict[str, float]:
    """Kill so often, and return what became of it all."""
    async with world(seed) as here:
        await here.ready_worker()
        here.simulator.arm(rules_from(FAULTS), seed=seed)
        began = time.monotonic()
        async with asyncio.TaskGroup() as clients:
            for number in range(CLIENTS):
                clients.create_task(here.shop(number))
            await here.kill(kills, crashes)
            took_s = time.monotonic() - began
            struck = dict(here.simulator.fired())
            here.simulator.disarm()
            here.stopping = True
        figures = await here.figures()
        print("answers:", dict(here.answers.most_common()))
        print("faults that struck:", struck)
        return {"kills": kills, "crashes": crashes, "took_s": round(took_s, 1), **figures}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--crashes", type=int, default=3, help="of PostgreSQL")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args()
    counted = asyncio.run(run(asked.kills, asked.crashes, asked.seed))
    figures = Figures(f"the kill loop, {PROCESSES} processes, {CLIENTS} clients")
    for name, value in counted.items():
        figures.add(f"killed: {name.replace('_', ' ')}", value, "", "0" * (name in MUST_BE_NONE))
    figures.show()
    if asked.json:
        figures.write(asked.json)
    return int(any(counted[name] for name in MUST_BE_NONE))


if __name__ == "__main__":
    sys.exit(main())
