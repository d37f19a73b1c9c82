"""A world with a gate between the service and its database."""

import asyncio
from pathlib import Path

from psycopg import AsyncConnection

from onecharge.control import clean_control
from onecharge.targets import target
from onecharge.world.postgres import Postgres
from onecharge.world.world import standing


async def test_a_service_goes_through_the_gate_and_we_do_not(
    postgres: Postgres, tmp_path: Path
) -> None:
    service_file = target(None, None).service_file
    server_url = postgres.url("postgres")

    async with standing(service_file, tmp_path, seed=1, server_url=server_url, gated=True) as world:
        gate = world.database_gate
        assert gate is not None
        seen: list[str] = []
        gate.on_command(1, lambda statement: seen.append(statement.place.what))
        await clean_control(world, 1)

        assert seen
        assert f":{gate.port}/" not in world.database_url
        assert gate.complaints == []
        async with gate.unreachable():
            await only_we(world.database_url)


async def only_we(database_url: str) -> None:
    """Wait until only we are connected to a database."""
    async with await AsyncConnection.connect(database_url, autocommit=True) as connection:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        while await (await connection.execute(count)).fetchone() != (1,):
            await asyncio.sleep(0)
