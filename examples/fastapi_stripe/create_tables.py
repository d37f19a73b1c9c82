"""Make the tables, once, before the first start."""

import asyncio

from app import Base, engine


async def create_tables() -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    await engine.dispose()


asyncio.run(create_tables())
