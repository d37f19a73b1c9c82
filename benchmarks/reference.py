"""What the reference service costs, beside the limits of the machine it runs on.

    python benchmarks/reference.py [--processes 2] [--seconds 5] [--json FILE]

One PostgreSQL, one after the other:

- the service, charges a second: clients over HTTP, a provider that answers at once, so that what
  is measured is the service;
- SQLAlchemy alone: the same transactions by the same number of processes, with no HTTP on
  either side;
- pgbench: the same statements with no Python at all;
- one client alone: what the service adds to the provider's own time.

Clients and provider are a few lines on bare sockets: they run on the same cores, and whatever
they cost would be taken for the service's.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy.engine import make_url

from onecharge.world.ports import free_port
from onecharge.world.postgres import INSTALLATION, WHEEL, Postgres
from onecharge.world.supervisor import Supervisor
from reference_impl.operation import Intent
from reference_impl.outcomes import Captured
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.store import Store

ROOT = Path(__file__).parents[1]
CLIENTS = 32
WARM_UP_S = 1.5
ALONE = 300
SECRET = "whsec_dGhlIGJlbmNobWFyaydzIG93biBzZWNyZXQ="  # noqa: S105 - a fake provider's
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Messages(asyncio.Protocol):
    """HTTP messages with a body, taken off a socket one by one."""

    def __init__(self, heard: Callable[["Messages", bytes], None]) -> None:
        self.heard = heard
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self.buffer, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            message, self.buffer = self.buffer[:whole], self.buffer[whole:]
            self.heard(self, message)


# The provider


def provide(port: int) -> None:
    """Run a provider that captures whatever it is asked for, at once."""
    serial = count(1)
    name = uuid4().hex[:8]

    def answer(to: Messages, message: bytes) -> None:
        asked = json.loads(message[message.index(b"\r\n\r\n") :])
        charge = {
            "id": f"ch_{name}_{next(serial)}",
            "status": "captured",
            "captured_minor": asked["amount_minor"],
        }
        body = json.dumps(asked | charge).encode()
        head = (
            b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        to.transport.write(head % len(body) + body)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Messages(answer), "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


# The clients


async def load(port: int, clients: int, seconds: float) -> float:
    """Send charges over so many connections for so long; return charges a second."""
    done = 0
    ends = time.monotonic() + seconds
    serial = count(1)
    name = uuid4().hex[:8]
    finished = [asyncio.Event() for _ in range(clients)]

    def next_or_end(to: Messages, message: bytes, over: asyncio.Event) -> None:
        nonlocal done
        assert message.startswith(b"HTTP/1.1 201"), message
        done += 1
        if time.monotonic() < ends:
            to.transport.write(charge_request(f"{name}-{next(serial)}"))
        else:
            to.transport.close()
            over.set()

    loop = asyncio.get_running_loop()
    began = time.monotonic()
    for over in finished:
        transport, _ = await loop.create_connection(
            lambda over=over: Messages(lambda to, message: next_or_end(to, message, over)),  # type: ignore[misc]
            "127.0.0.1",
            port,
        )
        transport.write(charge_request(f"{name}-{next(serial)}"))
    for over in finished:
        await over.wait()
    return done / (time.monotonic() - began)


async def alone(port: int, request: Callable[[str], bytes]) -> list[float]:
    """Send one request after the other; return how long each took, in milliseconds."""
    answered = asyncio.Event()
    transport, _ = await asyncio.get_running_loop().create_connection(
        lambda: Messages(lambda _to, _message: answered.set()), "127.0.0.1", port
    )
    name, took_ms = uuid4().hex[:8], []
    for number in range(ALONE):
        began = time.perf_counter()
        transport.write(request(f"{name}-{number}"))
        await answered.wait()
        answered.clear()
        took_ms.append((time.perf_counter() - began) * 1000)
    transport.close()
    return took_ms


def charge_request(order: str) -> bytes:
    intent = {"order": order, "amount_minor": 500, "currency": "EUR", "customer": "cus-1"}
    return _post("/charges", order, intent)


def provider_request(order: str) -> bytes:
    wish = {"reference": order, "amount_minor": 500, "currency": "EUR", "customer": "cus-1"}
    return _post("/v1/charges", order, wish | {"metadata": {"charge_id": "pay_1"}})


def _post(path: str, key: str, value: object) -> bytes:
    body = json.dumps(value).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer shop\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


# The limits


def transactions(database_url: str, clients: int, seconds: float, counted: Any) -> None:
    """Reserve and record charges straight away, and count those made after the warm-up."""

    async def run() -> int:
        store = Store(make_url(database_url).set(drivername="postgresql+psycopg"))
        begins = time.monotonic() + WARM_UP_S
        done = 0

        async def charge_after_charge() -> None:
            nonlocal done
            while (now := time.monotonic()) < begins + seconds:
                await _reserve_and_record(store)
                done += now >= begins

        await asyncio.gather(*(charge_after_charge() for _ in range(clients)))
        await store.close()
        return done

    import uvloop  # noqa: PLC0415 - as the service does

    counted.put(uvloop.run(run()))


async def _reserve_and_record(store: Store) -> None:
    name, now = uuid4().hex, datetime.now(UTC)
    intent = Intent(f"ord-{name}", 500, "EUR", "cus-1")
    new = Reservation(f"pay_{name}", "charge", "shop", name, intent, f"charge-{name}")
    owned = await store.reserve(new, Lease(now, now + timedelta(seconds=15)))
    assert isinstance(owned, Owned)
    await store.record(owned.operation, Captured(f"ch_{name}", 500), now, timedelta(seconds=5))


SCRIPT = """\
\\set n random(1, 9000000000000000)
begin;
insert into operations (id, kind, tenant, key, fingerprint, "order", amount_minor, currency,
 customer, capture, upstream_key, lease_until, ask_again_at, created_at)
 values ('pay_b' || :n::text, 'charge', 'shop', 'b' || :n::text, 'f', 'ord-b' || :n::text, 500,
 'EUR', 'cus-1', true, 'charge-b' || :n::text, now(), now(), now())
 on conflict on constraint one_operation_per_key do nothing returning *;
commit;
begin;
select * from operations where id = 'pay_b' || :n::text limit 2 for update;
update operations set status = 'succeeded', provider_charge = 'ch_b' || :n::text,
 captured_minor = 500, reply_status = 201, reply_body = repeat('x', 200)::bytea, settled_at = now()
 where id = 'pay_b' || :n::text;
insert into ledger (id, charge_id, kind, tenant, debit, credit, amount_minor, currency, booked_at)
 values ('le_b' || :n::text, 'pay_b' || :n::text, 'charge', 'shop', 'provider',
 'customer cus-1', 500, 'EUR', now()) on conflict on constraint one_entry_per_effect do nothing;
commit;
"""


def pgbench(folder: Path, database_url: str, seconds: float) -> float:
    """Return how many charges a second PostgreSQL makes when nothing else has to be done."""
    script = folder / "charge.sql"
    script.write_text(SCRIPT)
    where = urlsplit(database_url)
    package = next(iter(importlib_spec(WHEEL)))
    said = subprocess.run(  # noqa: S603 - our own wheel's
        [
            str(Path(package, INSTALLATION, "bin", "pgbench")),
            *("-n", "-M", "prepared", "-f", str(script), "-T", str(round(seconds))),
            *("-c", "16", "-j", "2", "-h", "127.0.0.1", "-p", str(where.port)),
            *("-U", str(where.username), where.path.strip("/")),
        ],
        env={"PATH": os.defpath, "PGPASSWORD": str(where.password)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"tps = ([\d.]+)", said.stdout)
    assert found is not None, said.stderr
    assert said.returncode == 0, said.stderr
    return float(found[1])


def importlib_spec(package: str) -> list[str]:
    import importlib.util  # noqa: PLC0415 - the package itself must not be imported

    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.submodule_search_locations is not None
    return list(found.submodule_search_locations)


# All of it


async def run(processes: int, seconds: float) -> dict[str, float]:
    """Measure everything in one run on one PostgreSQL."""
    fork = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="reference-bench-") as name:
        folder = Path(name)
        provider_port, port = free_port(), free_port()
        provider = fork.Process(target=provide, args=(provider_port,), daemon=True)
        provider.start()
        async with await Supervisor.start() as supervisor:
            postgres = await Postgres.start(supervisor, folder)
            database_url = await postgres.create_database("shop")
            log = folder / "service.log"
            environment = {
                "PATH": os.defpath,
                "PYTHONPATH": str(ROOT),
                "PORT": str(port),
                "WORKERS": str(processes),
                "DATABASE_URL": database_url,
                "PROVIDER_URL": f"http://127.0.0.1:{provider_port}",
                "PROVIDER_API_KEY": "sk_test",
                "WEBHOOK_SECRET": SECRET,
            }
            argv = (sys.executable, "-m", "reference_impl")
            await supervisor.spawn("service", argv, env=environment, cwd=folder, log=log)
            while log.read_text().count('"listening"') < processes:
                await asyncio.sleep(0.05)
            await load(port, CLIENTS, WARM_UP_S)
            service = await load(port, CLIENTS, seconds)
            added_ms = statistics.median(await alone(port, charge_request))
            own_ms = statistics.median(await alone(provider_port, provider_request))
            await supervisor.stop("service")

            counted: Any = fork.Queue()
            asked = (database_url, CLIENTS // processes, seconds, counted)
            others = [fork.Process(target=transactions, args=asked) for _ in range(processes)]
            for other in others:
                other.start()
            made = await asyncio.to_thread(lambda: [counted.get() for _ in others])
            sqlalchemy = sum(made) / seconds
            statements = await asyncio.to_thread(pgbench, folder, database_url, seconds)
        provider.kill()
    return {
        "processes": processes,
        "service_charges_per_s": round(service),
        "sqlalchemy_charges_per_s": round(sqlalchemy),
        "pgbench_charges_per_s": round(statements),
        "share_of_sqlalchemy": round(service / sqlalchemy, 2),
        "share_of_pgbench": round(service / statements, 3),
        "provider_alone_ms": round(own_ms, 2),
        "added_by_the_service_ms": round(added_ms - own_ms, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args()
    figures = asyncio.run(run(asked.processes, asked.seconds))
    for name, value in figures.items():
        print(f"{name:<26}{value:>10}")
    if asked.json:
        asked.json.write_text(json.dumps({"figures": figures}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
