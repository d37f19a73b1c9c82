"""One process of the service, from its first connection to its last answer.

Rule 1: it listens only when its tables are there, so whoever connects can be served.
Rule 2: it stops in this order: no new requests, running ones end, the reconciler ends its
        run, the connections close. Being killed instead costs time, never money.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import stamina
from aiohttp import web
from sqlalchemy.exc import OperationalError

from reference_impl.app import Desk, make_app
from reference_impl.charging import Surroundings
from reference_impl.parts import Parts
from reference_impl.provider import Provider
from reference_impl.reconciler import Reconciler
from reference_impl.settings import Settings
from reference_impl.store import Store

log = logging.getLogger(__name__)

DRAIN_S = 60
BACKLOG = 1024
DATABASE_WAIT_S = 10


@dataclass(frozen=True, slots=True)
class Running:
    """A service that serves: where it listens, and its reconciler, to be run at any moment."""

    address: str
    reconciler: Reconciler


@asynccontextmanager
async def running(settings: Settings, parts: Parts) -> AsyncIterator[Running]:
    """Serve until the block ends."""
    surroundings = Surroundings(
        clock=lambda: datetime.now(UTC),
        new_id=lambda: uuid4().hex,
        patience_s=settings.provider_timeout_s,
        lease_s=settings.lease_s,
    )
    store = parts.store(settings.database)
    api_key = settings.provider_api_key.get_secret_value()
    provider = Provider(settings.provider_url, api_key, settings.provider_timeout_s)
    charging = parts.charging(store, provider, surroundings)
    inbox = parts.inbox(store, settings.webhook_secret.get_secret_value(), surroundings.clock)
    reconciler = parts.reconciler(charging)
    desk = Desk(charging, inbox)
    try:
        await _tables(store)
        async with provider, _reconciling(reconciler, settings.reconcile_every_s):
            async with _listening(desk, settings.host, settings.port) as address:
                log.info("listening", extra={"address": address})
                yield Running(address, reconciler)
            await desk.drain()
    finally:
        await store.close()


@asynccontextmanager
async def _reconciling(reconciler: Reconciler, every_s: float) -> AsyncIterator[None]:
    stopped = asyncio.Event()
    running = asyncio.create_task(reconciler.run_until(stopped, every_s))
    try:
        yield
    finally:
        stopped.set()
        await running


@stamina.retry(
    on=OperationalError, attempts=None, timeout=DATABASE_WAIT_S, wait_initial=0.05, wait_max=0.5
)
async def _tables(store: Store) -> None:
    # A database that was started with us may need a moment longer.
    await store.create_tables()


@asynccontextmanager
async def _listening(desk: Desk, host: str, port: int) -> AsyncIterator[str]:
    # handler_cancellation stays off: a client that hangs up must not stop a charge half-way.
    runner = web.AppRunner(
        make_app(desk), access_log=None, handler_cancellation=False, shutdown_timeout=DRAIN_S
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=BACKLOG)
        await site.start()
        bound_host, bound_port = runner.addresses[0][:2]
        yield f"http://{bound_host}:{bound_port}"
    finally:
        await runner.cleanup()
