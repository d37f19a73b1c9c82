"""One process of the service, from its first connection to its last answer.

Rule 1: it listens only when its tables are there, so whoever connects can be served.
Rule 2: it stops in this order: no new requests, running ones end, the reconciler ends its
        run, the connections close. Being killed instead costs time, never money.
"""

import asyncio
import importlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never
from uuid import uuid4

import stamina
from aiohttp import web
from sqlalchemy.exc import OperationalError

from reference_impl.app import Desk, make_app, tenant_named_by
from reference_impl.charging import Charging, Surroundings
from reference_impl.inbox import Sender
from reference_impl.metrics import Metrics
from reference_impl.parts import Parts
from reference_impl.provider import Provider
from reference_impl.provider_generic import GenericProvider
from reference_impl.reconciler import Reconciler
from reference_impl.settings import Settings
from reference_impl.store import Store
from reference_impl.webhooks import Webhooks
from reference_impl.webhooks_generic import GenericWebhooks

log = logging.getLogger(__name__)

DRAIN_S = 60
BACKLOG = 1024
DATABASE_WAIT_S = 10
RENEWALS_PER_LEASE: Final = 3
"""Two renewals may fail before a lease is over."""


@dataclass(frozen=True, slots=True)
class Running:
    """A service that serves: where it listens, and its parts, to be run at any moment."""

    address: str
    charging: Charging
    reconciler: Reconciler


@asynccontextmanager
async def running(
    settings: Settings, parts: Parts, *, shared_port: bool = False
) -> AsyncIterator[Running]:
    """Serve until the block ends; a port that is shared has other processes listening as well."""
    store = parts.store(settings.database)
    provider = provider_of(settings)
    charging = parts.charging(store, provider, surroundings_of(settings))
    inbox = parts.inbox(charging, sender_of(settings))
    reconciler = parts.reconciler(charging)
    desk = parts.desk(charging, inbox)
    try:
        await _migrated(store)
        async with (
            provider,
            _every(settings.reconcile_every_s, reconciler.run_once),
            _every(settings.lease_s / RENEWALS_PER_LEASE, charging.leases.run_once),
        ):
            async with _listening(desk, settings, shared_port=shared_port) as address:
                log.info("listening", extra={"address": address, "pid": os.getpid()})
                yield Running(address, charging, reconciler)
                desk.closing = True
            await desk.drain()
    finally:
        await store.close()


def surroundings_of(settings: Settings) -> Surroundings:
    return Surroundings(
        clock=_now,
        new_id=lambda: uuid4().hex,
        metrics=Metrics(),
        patience_s=settings.provider_timeout_s,
        lease_s=settings.lease_s,
        back_off_s=settings.reconcile_every_s,
        back_off_at_most_s=settings.reconcile_at_least_every_s,
        key_retention_s=settings.provider_key_retention_s,
    )


def provider_of(settings: Settings) -> Provider:
    """Return the client of the provider that the settings name."""
    url, timeout_s = settings.provider_url, settings.provider_timeout_s
    api_key = settings.provider_api_key.get_secret_value()
    match settings.provider_kind:
        case "generic":
            return GenericProvider(url, api_key, timeout_s)
        case "stripe":
            # An extra: whoever does not speak to Stripe need not have its library.
            module = importlib.import_module("reference_impl.provider_stripe")
            client: Provider = module.StripeProvider(
                url, api_key, timeout_s, settings.stripe_payment_method
            )
            return client
    assert_never(settings.provider_kind)


def webhooks_of(settings: Settings) -> Webhooks:
    """Return the reader of that provider's webhooks."""
    secrets, tolerance = settings.webhook_secrets, timedelta(seconds=settings.webhook_tolerance_s)
    match settings.provider_kind:
        case "generic":
            return GenericWebhooks(secrets, tolerance)
        case "stripe":
            module = importlib.import_module("reference_impl.webhooks_stripe")
            reader: Webhooks = module.StripeWebhooks(secrets, tolerance)
            return reader
    assert_never(settings.provider_kind)


def sender_of(settings: Settings) -> Sender:
    token = settings.invoice_token.get_secret_value()
    return Sender(webhooks_of(settings), tenant_named_by(token) if token else None)


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def _every(
    seconds: float, run_once: Callable[[datetime], Awaitable[int]]
) -> AsyncIterator[None]:
    """Run something every so often. A run that fails is logged, and the next starts afresh."""
    stopped = asyncio.Event()

    async def run() -> None:
        while not await _came(stopped, seconds):
            try:
                await run_once(_now())
            except Exception:
                log.exception("a run failed")

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        stopped.set()
        await running


async def _came(event: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            return await event.wait()
    except TimeoutError:
        return False


@stamina.retry(
    on=OperationalError, attempts=None, timeout=DATABASE_WAIT_S, wait_initial=0.05, wait_max=0.5
)
async def _migrated(store: Store) -> None:
    # A database that was started with us may need a moment longer.
    await store.migrate()


@asynccontextmanager
async def _listening(desk: Desk, settings: Settings, *, shared_port: bool) -> AsyncIterator[str]:
    runner = web.AppRunner(
        make_app(desk),
        access_log=None,
        handler_cancellation=desk.hanging_up_cancels,
        shutdown_timeout=DRAIN_S,
    )
    await runner.setup()
    try:
        site = web.TCPSite(
            runner, settings.host, settings.port, backlog=BACKLOG, reuse_port=shared_port or None
        )
        await site.start()
        bound_host, bound_port = runner.addresses[0][:2]
        yield f"http://{bound_host}:{bound_port}"
    finally:
        await runner.cleanup()
