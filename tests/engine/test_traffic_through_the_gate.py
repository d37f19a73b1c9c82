"""Drivers' own heavy traffic through the gate, held against what comes of it without one.

Every statement that can be held is held and let go at once in half of the runs, so that what is
true of an open gate is true of an armed one as well.
"""

import asyncio
import json
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import asyncpg
import psycopg
import psycopg2
import pytest
import trustme
from psycopg import AsyncConnection
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.engine.gates.wire.postgres import TLS_ALERT
from onecharge.loops import run_to_end

HERE = Path(__file__).parent
NODE, NPM, JAVA = shutil.which("node"), shutil.which("npm"), shutil.which("java")
JDBC: Final = sorted(Path.home().glob(".m2/repository/org/postgresql/postgresql/*/*.jar"))
"""PostgreSQL's driver for Java, where Maven has fetched it for anybody."""
BIG: Final = 3_000_000
ROWS: Final = 20_000

Traffic = Callable[[str], Awaitable[Any]]


async def psycopg_in_pipelines(url: str) -> Any:
    async with await AsyncConnection.connect(url) as connection:
        connection.prepare_threshold = 2
        await connection.execute("CREATE TEMPORARY TABLE t (id int, what bytea)")
        async with connection.pipeline(), connection.cursor() as cursor:
            insert = "INSERT INTO t VALUES (%s, %s) RETURNING id"
            await cursor.executemany(
                insert, [(n, bytes([n % 256]) * n) for n in range(300)], returning=True
            )
        async with connection.cursor() as cursor:
            await cursor.execute("SELECT id, md5(what), length(what) FROM t ORDER BY id")
            rows = await cursor.fetchall()
        async with connection.cursor("named") as cursor:
            await cursor.execute("SELECT id FROM t ORDER BY id DESC")
            rows.extend(await cursor.fetchmany(7))
        try:
            async with connection.pipeline():
                await connection.execute("INSERT INTO t VALUES (1, NULL)")
                await connection.execute("SELECT 1/%s", (0,))
                await connection.execute("INSERT INTO t VALUES (2, NULL)")
        except psycopg.errors.DivisionByZero as error:
            rows.append((error.sqlstate, str(error)))
        await connection.rollback()
        return rows


async def psycopg_copies(url: str) -> Any:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("CREATE TEMPORARY TABLE t (id int, what text)")
        async with connection.cursor() as cursor:
            async with cursor.copy("COPY t FROM STDIN") as copy:
                for number in range(ROWS):
                    await copy.write_row((number, "x" * (number % 200)))
            try:
                async with cursor.copy("COPY t FROM STDIN") as copy:
                    await copy.write("not a number\tx\n")
            except psycopg.errors.InvalidTextRepresentation as error:
                refused = error.sqlstate
            out = bytearray()
            async with cursor.copy("COPY (SELECT * FROM t ORDER BY id) TO STDOUT") as copy:
                async for block in copy:
                    out += block
            await cursor.execute("SELECT count(*), sum(length(what)) FROM t")
            return refused, bytes(out), await cursor.fetchall()


async def asyncpg_at_length(url: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("CREATE TEMPORARY TABLE t (id int, what bytea)")
        rows = [(n, b"y" * (n % 100)) for n in range(ROWS)]
        await connection.copy_records_to_table("t", records=rows)
        await connection.executemany(
            "INSERT INTO t VALUES ($1, $2)", [(-n, b"") for n in range(500)]
        )
        big = await connection.fetchval("SELECT $1::bytea", b"z" * BIG)
        async with connection.transaction():
            cursor = await connection.cursor("SELECT id FROM t ORDER BY id")
            some = [row["id"] for _ in range(3) for row in await cursor.fetch(50)]
        every = await connection.fetch("SELECT id, what FROM t ORDER BY id, what")
        try:
            await connection.fetch("SELECT 1 / $1::int", 0)
        except asyncpg.DivisionByZeroError as error:
            some.append(error.sqlstate)
        return big == b"z" * BIG, some, [tuple(row) for row in every]
    finally:
        await connection.close()


async def psycopg2_simply(url: str) -> Any:
    def run() -> Any:
        connection = psycopg2.connect(url)
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute("CREATE TEMPORARY TABLE t (id int, what text)")
                cursor.executemany(
                    "INSERT INTO t VALUES (%s, %s)", [(n, "ü" * n) for n in range(99)]
                )
                cursor.execute(
                    "SELECT 1; SELECT id, what FROM t ORDER BY id; SELECT %s", ("w" * BIG,)
                )
                last = cursor.fetchall()
                cursor.execute("SELECT id, what FROM t ORDER BY id")
                return last, cursor.fetchall()
        finally:
            connection.close()

    return await asyncio.to_thread(run)


async def sqlalchemy_from_a_pool(url: str) -> Any:
    engine = create_async_engine(
        make_url(url).set(drivername="postgresql+psycopg"), pool_size=4, max_overflow=0
    )

    async def one(number: int) -> Any:
        async with engine.begin() as connection:
            found = await connection.execute(text("SELECT :n * 2"), {"n": number})
            return found.scalar()

    try:
        return await asyncio.gather(*(one(number) for number in range(60)))
    finally:
        await engine.dispose()


async def oddities(url: str) -> Any:
    """Say what is allowed and seldom said, simply and extended, in and out of transactions."""
    heard: list[Any] = []
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary))

        async def say(query: Any, *values: Any, binary: bool = False) -> None:
            try:
                cursor = await connection.execute(query, values or None, binary=binary)
            except psycopg.Error as problem:
                heard.append(problem.sqlstate)
                return
            while True:
                rows = await cursor.fetchall() if cursor.description is not None else None
                heard.append((cursor.statusmessage, rows))
                if not cursor.nextset():
                    break

        for query in ODDITIES:
            await say(query)
            heard.append(connection.info.transaction_status.name)
        await say("SELECT %s::int4, %s::bytea", 7, b"\0\1", binary=True)
        await say("SELECT %s || ''", "ü" * 9_000)
        await say(
            "SELECT array_length(ARRAY[" + ", ".join(["%s::int"] * 3_000) + "], 1)", *[1] * 3_000
        )
        await say("INSERT INTO odd VALUES (%s)", 1)
        await say("SELECT * FROM nowhere WHERE id = %s", 1)
        await say("SELECT count(*) FROM odd WHERE id > %s", 0)
    return heard


ODDITIES: Final = (
    "",
    ";",
    "-- nothing",
    "/* nothing /* at */ all */ ;;",
    "SELECT",
    "SELECT FROM generate_series(1, 3)",
    "SELECT 1; SELECT 2 WHERE false; SELECT 3",
    "SELECT 1; SELECT 1/0; SELECT 3",
    "CREATE TEMPORARY TABLE odd (id int PRIMARY KEY)",
    "INSERT INTO odd VALUES (5); INSERT INTO odd VALUES (5)",  # one transaction: neither is there
    "BEGIN; INSERT INTO odd VALUES (6); COMMIT; SELECT id FROM odd",
    "BEGIN",
    "INSERT INTO odd VALUES (6)",
    "SELECT 1",
    "COMMIT",  # of a transaction that has failed: rolled back
    "BEGIN; SAVEPOINT here",
    "SELECT nothing",
    "ROLLBACK TO here; RELEASE here",
    "DECLARE few CURSOR FOR SELECT generate_series(1, 9)",
    "FETCH 4 FROM few",
    "MOVE FORWARD 2 IN few",
    "FETCH ALL FROM few",
    "CLOSE few; COMMIT",
    "PREPARE named AS SELECT $1::int + 1",
    "EXECUTE named(4)",
    "DEALLOCATE named",
    "EXECUTE named(4)",
    "DO $$ BEGIN RAISE NOTICE 'noticed'; END $$",
    "COMMIT",
    "SET LOCAL work_mem = '1MB'",
    "LISTEN odd; NOTIFY odd, 'one'; UNLISTEN odd",
    "SELECT repeat('x', 300000), repeat('y', 300000)",
    "COPY odd TO '/nowhere/at/all'",
    "DISCARD ALL",
    "SELECT 1 FROM odd",
)


async def notifications(url: str) -> Any:
    async with (
        await AsyncConnection.connect(url, autocommit=True) as listening,
        await AsyncConnection.connect(url, autocommit=True) as speaking,
    ):
        await listening.execute("LISTEN paid")
        for number in range(5):
            await speaking.execute("SELECT pg_notify('paid', %s)", (str(number),))
        return [each.payload async for each in listening.notifies(timeout=20, stop_after=5)]


@asynccontextmanager
async def let_go(gate: PostgresGate) -> AsyncIterator[None]:
    """Hold everything, and release the oldest again and again."""

    async def release() -> None:
        seen = -1
        while True:
            seen = await gate.parking.changed(seen)
            gate.parking.release_all()

    gate.parking.arm()
    releasing = asyncio.create_task(release())
    yield
    releasing.cancel()
    gate.parking.disarm()


@pytest.mark.parametrize("armed", ["open", "armed"])
@pytest.mark.parametrize(
    "traffic",
    [
        psycopg_in_pipelines,
        psycopg_copies,
        asyncpg_at_length,
        psycopg2_simply,
        sqlalchemy_from_a_pool,
        oddities,
        notifications,
    ],
)
async def test_what_comes_through_the_gate_is_what_comes_without(
    gate: PostgresGate, url: str, database_url: str, traffic: Traffic, armed: str
) -> None:
    expected = await traffic(database_url)

    if armed == "open":
        assert await traffic(url) == expected
    else:
        async with let_go(gate):
            assert await traffic(url) == expected


async def test_on_the_loop_of_worlds_it_is_the_same(
    database_url: str, server_with_tls: str
) -> None:
    async def on_it(server_url: str) -> Any:
        gate = PostgresGate(server_url)
        await gate.open()
        try:
            async with gate.unreachable():
                with pytest.raises(psycopg.OperationalError):
                    await AsyncConnection.connect(gate.url(server_url))
            async with let_go(gate):
                return await psycopg_copies(gate.url(server_url))
        finally:
            await gate.close()

    expected = await psycopg_copies(database_url)

    assert await asyncio.to_thread(run_to_end, on_it(database_url)) == expected
    assert await asyncio.to_thread(run_to_end, on_it(server_with_tls)) == expected


@pytest.mark.skipif(NODE is None or NPM is None, reason="Node is not installed")
@pytest.mark.timeout(300)  # the package comes over the network
async def test_node_gets_the_same(
    gate: PostgresGate, url: str, database_url: str, tmp_path: Path
) -> None:
    for name in ("package.json", "traffic.mjs"):
        shutil.copy(HERE / "node" / name, tmp_path)
    assert NODE is not None
    assert NPM is not None
    install = [NPM, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = await asyncio.to_thread(
        subprocess.run, install, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

    async def by_node(url: str) -> Any:
        process = await asyncio.create_subprocess_exec(
            *(NODE, "traffic.mjs", url), cwd=tmp_path, stdout=-1, stderr=-1
        )
        said, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return json.loads(said)

    expected = await by_node(database_url)
    assert len(expected["rows"]) == 200
    assert await by_node(url) == expected
    async with let_go(gate):
        assert await by_node(url) == expected


@pytest.mark.examples  # two times, a virtual machine starts and compiles
@pytest.mark.skipif(JAVA is None or not JDBC, reason="Java, or its driver, is not installed")
async def test_java_gets_the_same(gate: PostgresGate, url: str, database_url: str) -> None:
    async def by_java(url: str) -> list[str]:
        assert JAVA is not None
        parts = urlsplit(url)
        jdbc = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
        process = await asyncio.create_subprocess_exec(
            *(JAVA, "-cp", str(JDBC[-1]), str(HERE / "java" / "Traffic.java")),
            *(jdbc, parts.username or "", parts.password or ""),
            stdout=-1,
            stderr=-1,
        )
        said, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return said.decode().splitlines()

    expected = await by_java(database_url)
    assert len(expected) > 60
    async with let_go(gate):
        assert await by_java(url) == expected


# How a connection is opened


async def said_to(port: int, data: bytes) -> bytes:
    """Return what a client hears in all that says these bytes and no more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("code", ["04d2162f", "04d21630"], ids=["TLS", "GSS"])
async def test_encryption_is_declined_and_the_session_begins(gate: PostgresGate, code: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    writer.write(bytes.fromhex("00000008" + code))
    assert await reader.readexactly(1) == b"N"

    body = bytes.fromhex("00030000") + b"user\0nobody\0\0"
    writer.write((len(body) + 4).to_bytes(4, "big") + body)
    assert await reader.readexactly(1) in {b"R", b"E"}
    writer.close()


async def test_tls_without_asking_is_refused_by_name(database_url: str) -> None:
    gate = PostgresGate(database_url)
    await gate.open()
    try:
        assert await said_to(gate.port, bytes.fromhex("160301")) == TLS_ALERT
        assert "sslnegotiation=direct" in gate.complaints[0]
    finally:
        await gate.close()


@pytest.mark.skipif(psycopg.pq.version() < 170_000, reason="libpq knows no direct TLS")
async def test_a_driver_that_speaks_tls_without_asking_is_told_how_to_connect(
    database_url: str,
) -> None:
    gate = PostgresGate(database_url)
    await gate.open()
    try:
        with pytest.raises(psycopg.OperationalError, match="handshake failure"):
            await AsyncConnection.connect(
                gate.url(database_url), sslmode="require", sslnegotiation="direct"
            )
        assert "let its driver connect with the URL that it is given" in gate.complaints[0]
    finally:
        await gate.close()


async def test_who_speaks_something_else_is_named(database_url: str) -> None:
    gate = PostgresGate(database_url)
    await gate.open()
    try:
        assert await said_to(gate.port, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert "a client does not speak PostgreSQL's protocol" in gate.complaints[0]
        assert "b'GET / HT'" in gate.complaints[0]
    finally:
        await gate.close()


# TLS towards the server


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def server_with_tls(
    database_url: str, authority: trustme.CA, tmp_path: Path
) -> AsyncIterator[str]:
    """The URL of the same server behind one that speaks nothing but TLS, as many in clouds do."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    behind = urlsplit(database_url)
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(8) == bytes.fromhex("0000000804d2162f")
        writer.write(b"S")
        await writer.start_tls(context)
        inner_reader, inner_writer = await asyncio.open_connection(behind.hostname, behind.port)
        for pumping in (pump(reader, inner_writer), pump(inner_reader, writer)):
            task = asyncio.create_task(pumping)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield behind._replace(netloc=behind.netloc.replace(f":{behind.port}", f":{port}")).geturl()
    server.close()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("asked", ["", "?sslmode=require", "?sslmode=verify-full&sslrootcert={ca}"])
async def test_the_server_is_spoken_to_as_its_url_asks(
    server_with_tls: str, tmp_path: Path, asked: str
) -> None:
    url = server_with_tls + asked.format(ca=tmp_path / "ca.pem")
    gate = PostgresGate(url)
    await gate.open()
    try:
        assert "ssl" not in gate.url(url)
        assert await psycopg_in_pipelines(gate.url(url))
    finally:
        await gate.close()


@pytest.mark.parametrize("asked", ["?sslmode=verify-ca", "?sslmode=verify-full"])
async def test_a_server_that_nobody_vouches_for_is_not_spoken_to(
    server_with_tls: str, asked: str
) -> None:
    gate = PostgresGate(server_with_tls + asked)
    await gate.open()
    try:
        with pytest.raises((asyncpg.PostgresError, ConnectionError)):
            await asyncpg.connect(gate.url(server_with_tls), ssl=False)
        assert "certificate verify failed" in gate.complaints[0]
    finally:
        await gate.close()


async def test_where_tls_must_be_and_is_not_given_nobody_comes_through(database_url: str) -> None:
    gate = PostgresGate(database_url + "?sslmode=require")
    await gate.open()
    try:
        with pytest.raises((asyncpg.PostgresError, ConnectionError)):
            await asyncpg.connect(gate.url(database_url), ssl=False)
        assert "sslmode=require, and the server speaks no TLS" in gate.complaints[0]
    finally:
        await gate.close()


@pytest.mark.parametrize(
    "url, problem",
    [
        ("postgresql://a,b/x", "one server, and the URL names several"),
        ("postgresql://a/x?sslmode=maybe", "sslmode: expected one of"),
    ],
)
def test_a_url_that_no_gate_can_stand_before_is_named(url: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        PostgresGate(url)
