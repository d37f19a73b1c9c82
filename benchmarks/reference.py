"""What the reference service costs, beside the limits of the machine it runs on.

    python benchmarks/reference.py [--quick] [--json FILE]

One PostgreSQL, and in every round one after the other:

- the service, charges a second: clients over HTTP, a provider that answers at once, so that what
  is measured is the service;
- SQLAlchemy alone: the same statements from the same number of processes, and nothing else;
- pgbench: the same statements with no Python at all.

Then one client alone: what the service adds to the provider's own time. A ratio is the median of
the rounds' ratios, so that what the neighbours do counts for both sides; on a busy machine the one
by processor time, of the Python processes alone, is the steadier.
"""

import asyncio
import contextlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from bare_sockets import alone, charge_request, load, provide, provider_request
from bare_statements import WARM_UP_S, assert_same_statements, issue, pgbench
from figures import Figures, arguments

from onecharge.world.ports import free_port
from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor

ROOT = Path(__file__).parents[1]
PROCESSES = 2
CLIENTS = 32
SECRET = "whsec_dGhlIGJlbmNobWFyaydzIG93biBzZWNyZXQ="  # noqa: S105 - a fake provider's
SPAWN = multiprocessing.get_context("spawn")


def main() -> None:
    """Measure, print, write."""
    chosen = arguments(__doc__ or "").parse_args()
    rounds, seconds = (1, 1.0) if chosen.quick else (5, 4.0)
    figures = Figures(f"the reference service, {PROCESSES} processes, {CLIENTS} clients")
    asyncio.run(measure(figures, rounds, seconds))
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


@dataclass(frozen=True, slots=True)
class Bench:
    """What runs, and where."""

    folder: Path
    database_url: str
    port: int
    provider_port: int
    service: psutil.Process

    def processor_s(self) -> float:
        """Return how much processor time the service's processes have used."""
        times = [each.cpu_times() for each in (self.service, *self.service.children())]
        return sum(time.user + time.system for time in times)


@dataclass(frozen=True, slots=True)
class Made:
    """Charges that were made in a while."""

    a_second: float
    processor_ms_each: float


async def measure(figures: Figures, rounds: int, seconds: float) -> None:
    """Let all sides take turns, so many rounds, and add what came of it."""
    async with bench() as here:
        await assert_same_statements(here.database_url)
        service: list[Made] = []
        bare: list[Made] = []
        statements: list[float] = []
        for _ in range(rounds):
            service.append(await by_service(here, seconds))
            bare.append(await asyncio.to_thread(by_sqlalchemy, here.database_url, seconds))
            statements.append(
                await asyncio.to_thread(pgbench, here.folder, here.database_url, seconds)
            )
        own_ms = await alone(here.provider_port, provider_request)
        with_service_ms = await alone(here.port, charge_request)
    ours, theirs = [each.a_second for each in service], [each.a_second for each in bare]
    figures.add("reference: charges per second", median(ours), "/s")
    figures.add("reference: SQLAlchemy alone, same statements", median(theirs), "/s")
    figures.add("reference: pgbench, same statements", median(statements), "/s")
    figures.add("reference: share of SQLAlchemy alone", _share(ours, theirs), "x", ">= 0.5")
    figures.add("reference: share of pgbench", _share(ours, statements), "x")
    used = [each.processor_ms_each for each in service]
    figures.add("reference: processor time per charge", median(used), "ms")
    share = _share([each.processor_ms_each for each in bare], used)
    figures.add("reference: share of SQLAlchemy alone, by processor time", share, "x")
    figures.add("reference: the provider alone, one client", median(own_ms), "ms")
    added_ms = median(with_service_ms) - median(own_ms)
    figures.add("reference: added by the service, one client", added_ms, "ms")


async def by_service(here: Bench, seconds: float) -> Made:
    """Have the service make charges for its clients."""
    await load(here.port, CLIENTS, WARM_UP_S)
    began_s = here.processor_s()
    a_second = await load(here.port, CLIENTS, seconds)
    return Made(a_second, (here.processor_s() - began_s) * 1000 / (a_second * seconds))


def by_sqlalchemy(database_url: str, seconds: float) -> Made:
    """Have as many processes make charges that do nothing else."""
    counted: Any = SPAWN.Queue()
    together: Any = SPAWN.Barrier(PROCESSES)
    asked = (database_url, CLIENTS // PROCESSES, seconds, together, counted)
    others = [SPAWN.Process(target=issue, args=asked) for _ in range(PROCESSES)]
    for other in others:
        other.start()
    made = [counted.get() for _ in others]
    for other in others:
        other.join()
    number = sum(charges for charges, _ in made)
    return Made(number / seconds, sum(used_s for _, used_s in made) * 1000 / number)


def _share(ours: list[float], theirs: list[float]) -> float:
    return median(one / other for one, other in zip(ours, theirs, strict=True))


@contextlib.asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """Start PostgreSQL, the provider and the service, and end them all."""
    with tempfile.TemporaryDirectory(prefix="reference-bench-") as name:
        folder = Path(name)
        provider_port, port = free_port(), free_port()
        provider = SPAWN.Process(target=provide, args=(provider_port,), daemon=True)
        provider.start()
        async with await Supervisor.start() as supervisor:
            postgres = await Postgres.start(supervisor, folder)
            database_url = await postgres.create_database("shop")
            log = folder / "service.log"
            environment = {
                "PATH": os.defpath,
                "PYTHONPATH": str(ROOT),
                "PORT": str(port),
                "WORKERS": str(PROCESSES),
                "DATABASE_URL": database_url,
                "PROVIDER_URL": f"http://127.0.0.1:{provider_port}",
                "PROVIDER_API_KEY": "sk_test",
                "WEBHOOK_SECRET": SECRET,
            }
            argv = (sys.executable, "-m", "reference_impl")
            pid = await supervisor.spawn("service", argv, env=environment, cwd=folder, log=log)
            while log.read_text().count('"listening"') < PROCESSES:
                await asyncio.sleep(0.05)
            yield Bench(folder, database_url, port, provider_port, psutil.Process(pid))
            await supervisor.stop("service")
        provider.kill()


if __name__ == "__main__":
    main()
