import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import AsyncConnection

from onecharge.world import postgres as module
from onecharge.world.ports import free_port
from onecharge.world.postgres import GivenServer, Postgres, PostgresError
from onecharge.world.supervisor import Supervisor

ROOT = Path(__file__).parents[2]
NOBODY = 65534
ENVIRONMENT = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
async def own_supervisor() -> AsyncIterator[Supervisor]:
    async with await Supervisor.start() as own_supervisor:
        yield own_supervisor


@pytest.fixture(scope="module")
async def mortal(
    supervisor_of_mortals: Supervisor, tmp_path_factory: pytest.TempPathFactory
) -> Postgres:
    """A server that nobody else's connections hang on."""
    return await Postgres.start(supervisor_of_mortals, tmp_path_factory.mktemp("mortal"))


@pytest.fixture(scope="module")
async def supervisor_of_mortals() -> AsyncIterator[Supervisor]:
    async with await Supervisor.start() as supervisor:
        yield supervisor


async def test_a_database_is_empty_and_its_own(database_url: str, postgres: Postgres) -> None:
    async with await AsyncConnection.connect(database_url) as connection:
        await connection.execute("CREATE TABLE orders ()")
        tables = await connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname='public'"
        )

        assert await tables.fetchall() == [("orders",)]
    assert re.match(r"postgresql://onecharge:[^@]+@127\.0\.0\.1:\d+/test_\d+$", database_url)
    assert postgres.version.startswith("18")


async def test_a_dropped_database_is_gone_even_if_somebody_is_connected(
    postgres: Postgres,
) -> None:
    url = await postgres.create_database("to_be_dropped")
    async with await AsyncConnection.connect(url):
        await postgres.drop_database("to_be_dropped")

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        await AsyncConnection.connect(url)


@pytest.mark.parametrize("how", ["gently", "outright"])
async def test_what_was_committed_survives_a_restart_on_the_same_port(
    supervisor_of_mortals: Supervisor, mortal: Postgres, how: str
) -> None:
    url = await mortal.create_database(f"orders_{how}")
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute("CREATE TABLE orders (amount_minor int)")
        await connection.execute("INSERT INTO orders VALUES (500)")

    if how == "outright":
        supervisor_of_mortals.kill(Postgres.NAME)
    await mortal.restart()

    async with await AsyncConnection.connect(url) as connection:
        rows = await connection.execute("SELECT amount_minor FROM orders")
        assert await rows.fetchall() == [(500,)]


@pytest.mark.parametrize("password", ["", ":wrong"])
async def test_without_its_password_nobody_comes_in(postgres: Postgres, password: str) -> None:
    url = re.sub(r":[^:@/]+@", f"{password}@", postgres.url("postgres"))

    with pytest.raises(psycopg.OperationalError, match="password"):
        await AsyncConnection.connect(url)


async def test_it_listens_on_no_unix_socket(postgres: Postgres) -> None:
    async with await AsyncConnection.connect(postgres.url("postgres")) as connection:
        rows = await connection.execute("SHOW unix_socket_directories")
        assert await rows.fetchone() == ("",)
        rows = await connection.execute("SHOW synchronous_commit")
        assert await rows.fetchone() == ("on",)


async def test_a_port_that_somebody_took_first_is_tried_no_more(
    own_supervisor: Supervisor, tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = int(postgres.url("").rpartition(":")[2].rstrip("/"))
    ports = iter([taken, taken, free_port()])
    monkeypatch.setattr(module, "free_port", lambda: next(ports))

    second = await Postgres.start(own_supervisor, tmp_path)

    assert f":{taken}/" not in second.url("orders")
    await second.create_database("orders")


async def test_a_server_that_cannot_start_is_quoted_from_its_log(
    own_supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(module.SETTINGS, "max_connections", "many")

    with pytest.raises(PostgresError, match="it did not start") as caught:
        await Postgres.start(own_supervisor, tmp_path)

    assert 'invalid value for parameter "max_connections": "many"' in str(caught.value)
    assert str(tmp_path / "postgresql.log") in str(caught.value)


async def test_without_the_wheel_the_error_names_the_package_and_the_way_out(
    own_supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WHEEL", "no_such_wheel")

    with pytest.raises(PostgresError, match=r"no-such-wheel is not installed.*DATABASE_URL"):
        await Postgres.start(own_supervisor, tmp_path)


async def test_the_wheel_is_never_imported(postgres: Postgres) -> None:
    assert postgres.version
    assert module.WHEEL not in sys.modules


async def test_a_given_server_makes_and_drops_databases(postgres: Postgres) -> None:
    theirs = postgres.url("postgres").replace("postgresql://", "postgresql+psycopg://")
    given = await GivenServer.connect(f"{theirs}?application_name=ours")

    url = await given.create_database("given orders")

    assert url.endswith("/given%20orders?application_name=ours")
    async with await AsyncConnection.connect(url):
        assert given.version == postgres.version
    await given.drop_database("given orders")


async def test_a_given_server_that_does_not_answer_is_named_without_its_password() -> None:
    url = f"postgresql://someone:secret@127.0.0.1:{free_port()}/orders"

    with pytest.raises(PostgresError, match="refused") as caught:
        await GivenServer.connect(url)

    assert "someone:***@127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_url_of_another_database_is_refused() -> None:
    with pytest.raises(PostgresError, match="not the URL of a PostgreSQL server: mysql://x/y"):
        await GivenServer.connect("mysql://x/y")


async def test_a_name_that_is_taken_is_an_error_and_no_accident(postgres: Postgres) -> None:
    with pytest.raises(PostgresError, match=r"CREATE DATABASE postgres .*already exists"):
        await postgres.create_database("postgres")


def use_postgres_once(*, by: list[str]) -> int:
    script = Path(__file__).with_name("use_postgres_once.py")
    done = subprocess.run(  # noqa: S603
        [*by, sys.executable, script],
        env=ENVIRONMENT,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def nobody() -> list[str]:
    """What makes root an ordinary user, who can at least read this Python."""
    ordinary = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    itself = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for prefix in (ordinary, ordinary + reading):
        argv = [*prefix, sys.executable, "-c", itself]
        if not subprocess.run(argv, env=ENVIRONMENT, check=False, capture_output=True).returncode:  # noqa: S603
            return prefix
    pytest.skip("this Python lies in a folder that only root can enter")


def test_it_works_as_root_and_as_an_ordinary_user_one_after_the_other() -> None:
    me = os.geteuid()
    if me == 0:
        assert use_postgres_once(by=[]) == NOBODY
        assert use_postgres_once(by=nobody()) == NOBODY
    else:
        assert use_postgres_once(by=[]) == me
        assert use_postgres_once(by=[]) == me
