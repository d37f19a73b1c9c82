"""What all tests share: one supervisor, one PostgreSQL, and a fresh database for who asks."""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor

_serial = count(1)


@pytest.fixture(scope="session")
async def supervisor() -> AsyncIterator[Supervisor]:
    async with await Supervisor.start() as supervisor:
        yield supervisor


@pytest.fixture(scope="session")
async def postgres(supervisor: Supervisor, tmp_path_factory: pytest.TempPathFactory) -> Postgres:
    return await Postgres.start(supervisor, tmp_path_factory.mktemp("postgresql"))


@pytest.fixture
async def database_url(postgres: Postgres) -> AsyncIterator[str]:
    name = f"test_{next(_serial)}"
    yield await postgres.create_database(name)
    await postgres.drop_database(name)
