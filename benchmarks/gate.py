"""What the gate before PostgreSQL costs while nothing is held, and whether it changes anything.

    python benchmarks/gate.py [--quick] [--json FILE]

The gate in a process of its own, on the loop that worlds run on. pgbench moves money between
accounts, in turns straight to the server and by way of the gate:

- 16 connections at once, in the simple, the extended and the prepared form of the protocol: what
  a statement costs on average, and whether every transaction was done and every balance is right;
- one connection alone: what the gate adds to the time that a statement takes.

Both differences hold whatever the neighbours on the machine do; the gate's own processor time for
a statement is the steadier figure.

Afterwards the sums of all accounts, branches, tellers and of the history of transfers must be one
and the same number, and the transfers as many as pgbench counted: a difference is a lost, doubled
or changed statement.
"""

import asyncio
import importlib.util
import multiprocessing
import os
import re
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
from figures import Figures, arguments

from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.loops import run_to_end
from onecharge.world.postgres import INSTALLATION, WHEEL, Postgres
from onecharge.world.supervisor import Supervisor

CONNECTIONS = 16
STATEMENTS = 7  # of one transaction of pgbench: BEGIN, three UPDATEs, SELECT, INSERT, END
MODES = ("simple", "extended", "prepared")
SPAWN = multiprocessing.get_context("spawn")


def main() -> None:
    """Measure, print, write."""
    chosen = arguments(__doc__ or "").parse_args()
    rounds, seconds = (1, 2) if chosen.quick else (4, 5)  # 60 s of 16 connections through it
    figures = Figures(f"the gate before PostgreSQL, nothing held, {CONNECTIONS} connections")
    asyncio.run(measure(figures, rounds, seconds))
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


async def measure(figures: Figures, rounds: int, seconds: int) -> None:
    """Let both ways take turns, and hold the sums against each other."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
        async with await Supervisor.start() as supervisor:
            postgres = await Postgres.start(supervisor, Path(folder))
            direct = await postgres.create_database("bank")
            ours, theirs = SPAWN.Pipe()
            gate = SPAWN.Process(target=stand, args=(direct, theirs), daemon=True)
            gate.start()
            gated = await asyncio.to_thread(ours.recv)
            await asyncio.to_thread(_pgbench, direct, "-i", "-s", str(CONNECTIONS), "-q")
            assert gate.pid is not None
            process = psutil.Process(gate.pid)
            await _measure(figures, (direct, gated), process, rounds, seconds)
            ours.send("enough")
            gate.join()


async def _measure(
    figures: Figures, urls: tuple[str, str], gate: psutil.Process, rounds: int, seconds: int
) -> None:
    done = through = 0
    began_s = _used_s(gate)
    for clients in (CONNECTIONS, 1):
        for mode in MODES:
            added: list[float] = []
            for _ in range(rounds if clients > 1 else 1):
                options = ("-c", str(clients), "-j", "2", "-T", str(seconds), "-M", mode)
                made = [await asyncio.to_thread(_transactions, url, *options) for url in urls]
                done += sum(made)
                through += made[1]
                direct_ms, gated_ms = (1000 * seconds / each / STATEMENTS for each in made)
                added.append(gated_ms - direct_ms)
            who = f"{clients} connections" if clients > 1 else "alone"
            name = f"gate: added to a statement, {mode}, {who}"
            figures.add(name, median(added), "ms", "<= 0.3")
    used_ms = (_used_s(gate) - began_s) * 1000 / through / STATEMENTS
    figures.add("gate: its processor time for a statement", used_ms, "ms", "<= 0.3")
    figures.add("gate: transfers made, half of the time through it", done)
    figures.add("gate: differences", _differences(urls[0], done), "", "0")


def _transactions(url: str, *options: str) -> int:
    """Have pgbench move money, and return how many times it did."""
    said = _pgbench(url, "-n", *options)
    assert _number(r"failed.*?: (\d+)", said) == 0, said
    return _number(r"processed: (\d+)", said)


def _used_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def _differences(direct: str, done: int) -> int:
    """Return how many of the sums are not what they have to be."""
    with psycopg.connect(direct) as connection:
        row = connection.execute(
            "SELECT sum(delta), count(*),"
            " (SELECT sum(abalance) FROM pgbench_accounts),"
            " (SELECT sum(bbalance) FROM pgbench_branches),"
            " (SELECT sum(tbalance) FROM pgbench_tellers) FROM pgbench_history"
        ).fetchone()
    assert row is not None
    moved, transfers, *sums = row
    return sum(each != moved for each in sums) + abs(transfers - done)


def stand(server_url: str, told: Any) -> None:
    """Be a process with a gate in it, until it is enough."""

    async def run() -> None:
        gate = PostgresGate(server_url)
        await gate.open()
        told.send(gate.url(server_url))
        await asyncio.to_thread(told.recv)
        assert gate.complaints == [], gate.complaints
        await gate.close()

    run_to_end(run())


def _number(pattern: str, said: str) -> int:
    found = re.search(pattern, said)
    assert found is not None, said
    return int(found[1])


def _pgbench(url: str, *options: str) -> str:
    where = urlsplit(url)
    spec = importlib.util.find_spec(WHEEL)  # the package itself must not be imported
    assert spec is not None
    assert spec.submodule_search_locations is not None
    program = Path(spec.submodule_search_locations[0], INSTALLATION, "bin", "pgbench")
    done = subprocess.run(  # noqa: S603 - our own wheel's
        [
            *(str(program), *options, "-h", "127.0.0.1", "-p", str(where.port)),
            *("-U", str(where.username), where.path.strip("/")),
        ],
        env={"PATH": os.defpath, "PGPASSWORD": str(where.password)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
