"""A merchant's shop: a provider, a database and any number of services, in one line each."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from psycopg.rows import dict_row
from standardwebhooks import Webhook

from onecharge.world.ports import free_port
from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor
from reference_impl.parts import parts
from reference_impl.schema import metadata
from reference_impl.service import Running, running
from reference_impl.settings import read_settings
from simulator.catalogue import rules_from
from simulator.core.journal import Journal
from simulator.gates import HeldCall
from simulator.server import Simulator

ROOT = Path(__file__).parents[2]
SECRET = "whsec_dGhlIHJlZmVyZW5jZSBzZXJ2aWNlJ3Mgc2VjcmV0"
CUSTOMER = "cus-1"
API_KEY = "sk_test"
PATIENCE_S = 60.0  # how long a test waits for what must come; it is never waited for in full
POLL_S = 0.02

CONSTRAINTS = """
    select count(*) as n from pg_constraint
    where conrelid in (to_regclass('ledger'), to_regclass('events'), to_regclass('operations'))
    and contype <> 'n'
"""

_serial = count(1)


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer as a client sees it."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Shop:
    """What a test needs to pay, to break things and to see what became of it."""

    simulator: Simulator
    journal: Journal
    database_url: str
    database: psycopg.AsyncConnection[dict[str, Any]]
    client: aiohttp.ClientSession
    supervisor: Supervisor
    folder: Path
    closing: AsyncExitStack
    addresses: list[str] = field(default_factory=list)
    services: list[Running] = field(default_factory=list)

    async def empty(self) -> None:
        """Leave no row; and no table either, where they aren't as the migrations make them.

        A mutant takes away a constraint. To migrate anew takes longer than most tests.
        """
        [found] = await self.rows(CONSTRAINTS)
        if found["n"] == sum(len(table.constraints) for table in metadata.tables.values()):
            await self.rows("delete from ledger; delete from events; delete from operations")
        else:
            await self.rows(
                "set client_min_messages = error;"
                " drop table if exists ledger, events, operations, alembic_version"
            )

    # --- services -----------------------------------------------------------------------

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "PROVIDER_URL": self.simulator.url(),
            "PROVIDER_API_KEY": API_KEY,
            "WEBHOOK_SECRET": SECRET,
            "PORT": "0",
            "RECONCILE_EVERY_S": "3600",  # tests run the reconciler themselves
            "INVOICE_TOKEN": "shop",
        } | settings

    async def open(self, mutant: str = "", **settings: str) -> Running:
        """Start one more service in this process."""
        read = read_settings(self.environment(**settings))
        service = await self.closing.enter_async_context(running(read, parts(mutant)))
        self.services.append(service)
        self.addresses.append(service.address)
        return service

    async def spawn(self, **settings: str) -> str:
        """Start one more service as a process of its own; return its name."""
        name, port = f"service-{next(_serial)}", free_port()
        environment = self.environment(PORT=str(port), **settings)
        await self.supervisor.spawn(
            name,
            (sys.executable, "-m", "reference_impl"),
            env={"PATH": os.defpath, "PYTHONPATH": str(ROOT)} | environment,
            cwd=self.folder,
            log=self.folder / f"{name}.log",
        )
        self.closing.push_async_callback(self.supervisor.stop, name)
        address = f"http://127.0.0.1:{port}"
        async with asyncio.timeout(PATIENCE_S):
            while not await self._healthy(address):
                await asyncio.sleep(POLL_S)
        self.addresses.append(address)
        return name

    async def _healthy(self, address: str) -> bool:
        try:
            async with self.client.get(f"{address}/healthz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def reconcile(self, *, service: int = 0) -> int:
        """Run a service's reconciler once, as if all leases had run out."""
        later = datetime.now(UTC) + timedelta(hours=1)
        return await self.services[service].reconciler.run_once(later)

    # --- what a client does -------------------------------------------------------------

    async def send(
        self, method: str, path: str, headers: dict[str, str], body: bytes = b"", at: int = 0
    ) -> Seen:
        url = self.addresses[at] + path
        async with self.client.request(method, url, headers=headers, data=body) as response:
            return Seen(response.status, await response.read(), dict(response.headers))

    async def pay(
        self,
        key: str = "key-1",
        order: str = "ord-1",
        amount_minor: int = 500,
        *,
        tenant: str = "shop",
        at: int = 0,
        **more: object,
    ) -> Seen:
        """Send ``POST /charges``."""
        intent = {"order": order, "amount_minor": amount_minor, **more}
        body = json.dumps(intent | {"currency": "EUR", "customer": CUSTOMER}).encode()
        headers = {"Authorization": f"Bearer {tenant}", "Idempotency-Key": key}
        return await self.send("POST", "/charges", headers, body, at)

    async def authorise(self) -> str:
        """Have a charge authorised and not captured; return its id."""
        authorised = await self.pay(capture=False)
        assert (authorised.status, authorised.json["status"]) == (201, "authorised")
        return str(authorised.json["id"])

    async def capture(
        self, charge_id: str, key: str = "key-1", *, at: int = 0, **body: object
    ) -> Seen:
        return await self.change(f"/charges/{charge_id}/captures", key, body, at=at)

    async def refund(
        self, charge_id: str, key: str = "key-1", *, at: int = 0, **body: object
    ) -> Seen:
        return await self.change(f"/charges/{charge_id}/refunds", key, body, at=at)

    async def change(
        self,
        path: str,
        key: str,
        body: dict[str, object],
        *,
        tenant: str = "shop",
        at: int = 0,
    ) -> Seen:
        headers = {"Authorization": f"Bearer {tenant}", "Idempotency-Key": key}
        return await self.send("POST", path, headers, json.dumps(body).encode(), at)

    async def read(self, path: str, *, tenant: str = "shop", at: int = 0) -> Any:
        seen = await self.send("GET", path, {"Authorization": f"Bearer {tenant}"}, at=at)
        return seen.json

    async def status(self, order: str = "ord-1", *, at: int = 0) -> str:
        """Return what the service believes of an order."""
        found = await self.read(f"/charges?order={order}", at=at)
        return str(found["data"][0]["status"])

    async def entries_minor(self, *, at: int = 0) -> list[tuple[str, int]]:
        """Return the kind and amount of every entry of the customer's account."""
        ledger = await self.read(f"/accounts/{CUSTOMER}/ledger", at=at)
        return [(entry["kind"], entry["amount_minor"]) for entry in ledger["entries"]]

    async def credits_minor(self, *, at: int = 0) -> list[int]:
        """Return what is booked to the customer's account, entry by entry."""
        ledger = await self.read(f"/accounts/{CUSTOMER}/ledger", at=at)
        return [entry["amount_minor"] for entry in ledger["entries"]]

    # --- what a provider does -----------------------------------------------------------

    def go_wrong(self, *rules: dict[str, object]) -> None:
        self.simulator.arm(rules_from(rules))

    async def parked(self, calls: int = 1) -> list[HeldCall]:
        """Wait until the provider holds so many calls."""
        enough = asyncio.Event()

        def look(_held: HeldCall) -> None:
            if len(self.simulator.gates.held()) >= calls:
                enough.set()

        self.simulator.gates.on_park.append(look)
        if len(self.simulator.gates.held()) >= calls:
            enough.set()
        async with asyncio.timeout(PATIENCE_S):
            await enough.wait()
        return self.simulator.gates.held()

    def deliver_events(self) -> None:
        """Have the provider tell the first service of every event to come."""
        self.simulator.add_endpoint(f"{self.addresses[0]}/webhooks/provider", SECRET)

    async def tell(
        self,
        charge: dict[str, Any],
        event: str = "evt-1",
        *,
        secret: str = SECRET,
        at: int = 0,
        signed_s_ago: float = 0,
        **more: Any,
    ) -> Seen:
        """Deliver one event about a charge."""
        value = {"type": f"charge.{charge['status']}", "data": {"charge": charge, **more}}
        body = json.dumps(value)
        return await self.deliver(body, event, secret=secret, at=at, signed_s_ago=signed_s_ago)

    async def deliver(
        self,
        body: str,
        event: str = "evt-1",
        *,
        secret: str = SECRET,
        at: int = 0,
        signed_s_ago: float = 0,
    ) -> Seen:
        """Send a body as an event, signed now or some seconds ago."""
        now = datetime.now(UTC) - timedelta(seconds=signed_s_ago)
        headers = {
            "webhook-id": event,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(secret).sign(event, now, body),
        }
        return await self.send("POST", "/webhooks/provider", headers, body.encode(), at)

    async def provider_charge(self, charge_id: str = "ch_1") -> dict[str, Any]:
        """Return a charge as the provider shows it."""
        url = f"{self.simulator.url()}/v1/charges/{charge_id}"
        headers = {"Authorization": f"Bearer {API_KEY}"}
        async with self.client.get(url, headers=headers) as response:
            assert response.status == 200
            shown: dict[str, Any] = await response.json()
            return shown

    # --- what is true -------------------------------------------------------------------

    def real_charges(self, order: str = "ord-1") -> list[str]:
        """Return the charges that moved money, by the provider's own ledger."""
        return [posting.charge for posting in self.simulator.provider.ledger.real_charges(order)]

    def upstream_keys(self, operation: str = "charge.create") -> list[str | None]:
        """Return the upstream key of every attempt to charge, in order."""
        return [
            entry.key
            for entry in self.journal.entries
            if entry.kind == "receive" and entry.value["operation"] == operation
        ]

    def refunds_minor(self) -> list[int]:
        """Return what went back, by the provider's own journal."""
        return [
            entry.value["amount_minor"]
            for entry in self.journal.entries
            if entry.kind == "effect" and entry.value["what"] == "charge.refunded"
        ]

    async def rows(self, query: str, *values: object) -> Sequence[dict[str, Any]]:
        """Ask the database itself, in a transaction of its own."""
        asked = await self.database.execute(query.encode(), values)
        return await asked.fetchall() if asked.description else []

    async def until(self, query: str) -> None:
        """Wait until a query finds something."""
        async with asyncio.timeout(PATIENCE_S):
            while not await self.rows(query):
                await asyncio.sleep(POLL_S)

    @asynccontextmanager
    async def locked(self, table: str) -> AsyncIterator[None]:
        """Have every write to a table wait until the block ends; reads go on."""
        async with await psycopg.AsyncConnection.connect(self.database_url) as connection:
            await connection.execute(f"lock table {table} in share row exclusive mode".encode())
            yield


@pytest.fixture(scope="session")
async def shared_database(postgres: Postgres) -> str:
    """One database for all: to empty its tables is quicker than to make them."""
    return await postgres.create_database("service")


@pytest.fixture
async def shop(shared_database: str, supervisor: Supervisor, tmp_path: Path) -> AsyncIterator[Shop]:
    """A shop without a service and with an empty database."""
    async with _shop("generic", shared_database, supervisor, tmp_path) as shop:
        yield shop


@pytest.fixture
async def stripe_shop(
    shared_database: str, supervisor: Supervisor, tmp_path: Path
) -> AsyncIterator[Shop]:
    """The same, at a provider that speaks as Stripe does."""
    async with _shop("stripe", shared_database, supervisor, tmp_path) as shop:
        yield shop


@asynccontextmanager
async def _shop(
    dialect: str, database_url: str, supervisor: Supervisor, folder: Path
) -> AsyncIterator[Shop]:
    journal = Journal()
    simulator = Simulator(dialect=dialect, sink=journal)
    await simulator.start()
    async with (
        await psycopg.AsyncConnection.connect(
            database_url, autocommit=True, row_factory=dict_row
        ) as database,
        AsyncExitStack() as closing,
        aiohttp.ClientSession() as client,
    ):
        closing.push_async_callback(simulator.stop)
        shop = Shop(simulator, journal, database_url, database, client, supervisor, folder, closing)
        await shop.empty()
        yield shop
        simulator.disarm()
