import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from tests.service.conftest import Shop


@asynccontextmanager
async def _unreachable(shop: "Shop") -> AsyncIterator[None]:
    """Cut every connection to the service's database and allow no new one."""
    server, _, name = shop.database_url.rpartition("/")
    async with await psycopg.AsyncConnection.connect(
        f"{server}/postgres", autocommit=True
    ) as connection:
        await connection.execute(f"alter database {name} allow_connections false".encode())
        try:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
            )
            yield
        finally:
            await connection.execute(f"alter database {name} allow_connections true".encode())


async def test_a_charge_that_cannot_be_recorded_is_processing_and_not_lost(
    shop: "Shop",
) -> None:
    await shop.open()
    shop.go_wrong(
        {"fault": "hold", "operation": "charge.create", "seam": "after_commit", "until": "released"}
    )
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    async with _unreachable(shop):
        shop.simulator.disarm()
        unclear = await paying
    reconciled = await shop.reconcile()

    assert (unclear.status, unclear.json["status"]) == (202, "processing")
    assert reconciled == 1
    assert await shop.status() == "succeeded"
    assert shop.real_charges() == ["ch_1"]
    assert await shop.credits_minor() == [500]


async def test_without_a_database_nothing_is_charged_and_nothing_is_promised(
    shop: "Shop",
) -> None:
    await shop.open()
    await shop.pay()

    async with _unreachable(shop):
        refused = await shop.pay("key-2", "ord-2")
        health = await shop.send("GET", "/healthz", {})
    healed = await shop.send("GET", "/healthz", {})

    assert (refused.status, refused.json["code"]) == (500, "internal")
    assert "Retry-After" not in refused.headers
    assert shop.real_charges("ord-2") == []
    assert (health.status, healed.status) == (503, 200)
    assert (await shop.pay("key-2", "ord-2")).status == 201
