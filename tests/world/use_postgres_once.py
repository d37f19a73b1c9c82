"""Start PostgreSQL, keep a row in it, close; say which user it was that it ran as."""

import asyncio
import sys
import tempfile
from pathlib import Path

import psutil
import psycopg

from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with await Supervisor.start() as supervisor:
            postgres = await Postgres.start(supervisor, Path(folder))
            url = await postgres.create_database("orders")
            async with await psycopg.AsyncConnection.connect(url) as connection:
                await connection.execute("CREATE TABLE orders AS SELECT 7 AS amount_minor")
            (supervising,) = psutil.Process().children()
            (server,) = supervising.children()
            sys.stdout.write(f"{server.uids().effective}\n")


asyncio.run(main())
