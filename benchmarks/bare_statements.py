"""The statements of one charge, issued by SQLAlchemy alone, and by pgbench.

Before anything is measured, what SQLAlchemy is about to send is held against what the service's
store sends for one charge: if they are not the same statements, there is nothing to compare.
"""

import asyncio
import importlib.util
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from sqlalchemy import bindparam, event, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from onecharge.world.postgres import INSTALLATION, WHEEL
from reference_impl.operation import Intent
from reference_impl.outcomes import Captured
from reference_impl.reservation import Lease, Owned, Reservation
from reference_impl.schema import ledger, operations
from reference_impl.store import Store

WARM_UP_S = 1.5

RESERVE = (
    insert(operations)
    .on_conflict_do_nothing(constraint="one_operation_per_key")
    .returning(operations)
)
LOCK = select(operations).where(operations.c.id == bindparam("its_id")).with_for_update()
SETTLE = update(operations).where(operations.c.id == bindparam("its_id"))
BOOK = insert(ledger).on_conflict_do_nothing(constraint="one_entry_per_effect")


def issue(database_url: str, clients: int, seconds: float, together: Any, counted: Any) -> None:
    """Warm up, wait for the others; then count charges and processor time for so many seconds."""

    async def run() -> None:
        engine = _engine(database_url)

        async def charges_until(end: float) -> int:
            done = 0
            while time.monotonic() < end:
                await one_charge(engine)
                done += 1
            return done

        async def charges_for(seconds: float) -> int:
            end = time.monotonic() + seconds
            return sum(await asyncio.gather(*(charges_until(end) for _ in range(clients))))

        await charges_for(WARM_UP_S)
        together.wait()
        began_s = time.process_time()
        made = await charges_for(seconds)
        counted.put((made, time.process_time() - began_s))
        await engine.dispose()

    import uvloop  # noqa: PLC0415 - as the service does

    uvloop.run(run())


async def one_charge(engine: AsyncEngine) -> None:
    """Send the statements of one charge, in two transactions."""
    name, now = uuid4().hex, datetime.now(UTC)
    whose = {"its_id": f"pay_{name}"}
    async with engine.begin() as connection:
        rows = await connection.execute(RESERVE, _reserved(name, now))
        assert rows.mappings().one()
    async with engine.begin() as connection:
        locked = await connection.execute(LOCK, whose)
        assert len(locked.mappings().all()) == 1
        await connection.execute(SETTLE, whose | _settled(name, now))
        await connection.execute(BOOK, _booked(name, now))


async def assert_same_statements(database_url: str) -> None:
    """Hold the statements above against those of the service's store."""
    store, engine = Store(_url(database_url)), _engine(database_url)
    with _heard(store.engine) as of_the_store:
        await _charge_by(store)
    with _heard(engine) as bare:
        await one_charge(engine)
    await store.close()
    await engine.dispose()
    assert bare == of_the_store, (bare, of_the_store)


@contextmanager
def _heard(engine: AsyncEngine) -> Iterator[list[str]]:
    said: list[str] = []

    def hear(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        said.append(re.sub(r"%\(\w+\)s", "?", statement))

    event.listen(engine.sync_engine, "before_cursor_execute", hear)
    yield said


async def _charge_by(store: Store) -> None:
    name, now = uuid4().hex, datetime.now(UTC)
    intent = Intent(f"ord-{name}", 500, "EUR", "cus-1")
    new = Reservation(f"pay_{name}", "charge", "shop", name, intent, f"charge-{name}")
    owned = await store.reserve(new, Lease(now, now + timedelta(seconds=15)))
    assert isinstance(owned, Owned)
    await store.record(owned.operation, Captured(f"ch_{name}", 500), now, timedelta(seconds=5))


def _reserved(name: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"pay_{name}",
        "kind": "charge",
        "tenant": "shop",
        "key": name,
        "fingerprint": name,
        "order": f"ord-{name}",
        "amount_minor": 500,
        "currency": "EUR",
        "customer": "cus-1",
        "capture": True,
        "invoice": None,
        "upstream_key": f"charge-{name}",
        "lease_until": now,
        "ask_again_at": now,
        "created_at": now,
    }


def _settled(name: str, now: datetime) -> dict[str, Any]:
    return {
        "status": "succeeded",
        "provider_charge": f"ch_{name}",
        "provider_refund": None,
        "captured_minor": 500,
        "failure": None,
        "reply_status": 201,
        "reply_body": b"x" * 200,
        "settled_at": now,
    }


def _booked(name: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"le_{name}",
        "charge_id": f"pay_{name}",
        "kind": "charge",
        "refund": None,
        "told_by": None,
        "tenant": "shop",
        "debit": "provider",
        "credit": "customer:cus-1",
        "amount_minor": 500,
        "currency": "EUR",
        "booked_at": now,
    }


def _engine(database_url: str) -> AsyncEngine:
    return create_async_engine(_url(database_url), pool_size=10, max_overflow=20)


def _url(database_url: str) -> Any:
    return make_url(database_url).set(drivername="postgresql+psycopg")


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
select * from operations where id = 'pay_b' || :n::text for update;
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
    spec = importlib.util.find_spec(WHEEL)  # the package itself must not be imported
    assert spec is not None
    assert spec.submodule_search_locations is not None
    package = spec.submodule_search_locations[0]
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
