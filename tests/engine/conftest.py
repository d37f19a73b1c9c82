"""A gate before the PostgreSQL that all tests share, and connections by way of it."""

from collections.abc import AsyncIterator

import pytest
from psycopg import AsyncConnection

from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.engine.parking import Parked, Parking
from onecharge.world.postgres import Postgres


@pytest.fixture(scope="session")
async def database_url(postgres: Postgres) -> AsyncIterator[str]:
    """One database for all tests of the gate: each of them makes its table anew."""
    yield await postgres.create_database("behind_the_gate")
    await postgres.drop_database("behind_the_gate")


@pytest.fixture
async def gate(database_url: str) -> AsyncIterator[PostgresGate]:
    gate = PostgresGate(database_url)
    await gate.open()
    yield gate
    await gate.close()
    assert gate.complaints == []


@pytest.fixture
def url(gate: PostgresGate, database_url: str) -> str:
    """The database by way of the gate."""
    return gate.url(database_url)


@pytest.fixture
async def direct(database_url: str) -> AsyncIterator[AsyncConnection]:
    """A connection past the gate, to see what is so."""
    async with await AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("DROP TABLE IF EXISTS charges")
        await connection.execute("CREATE TABLE charges (id int PRIMARY KEY, amount_minor int)")
        yield connection


async def arrival(parking: Parking, what: str) -> Parked:
    """Return the first parked event of that name, once there is one."""
    seen = -1
    while True:
        seen = await parking.changed(seen)
        for event in parking.parked():
            if event.place.what == what:
                return event
