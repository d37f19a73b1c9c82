"""A service's own database, asked one question: read-only, within a time, leaving nothing open.

Rule 1: a question never writes. The database is told so, it is not only hoped.
Rule 2: a question ends. The database is given a time, and gives up by itself.
Rule 3: each question has a connection of its own, so that a database may be restarted between
        two of them.
"""

import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Dialect, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

_DRIVERS: Final = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "cockroachdb": "postgresql+psycopg",
    "sqlite": "sqlite+pysqlite",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
"""What we ask with, where the service's own driver is not there or waits in a way of its own."""

_BLOCKING: Final = frozenset({"psycopg", "pysqlite", "pymysql", "mysqldb", "mysqlconnector"})
"""Drivers that we can ask with as they are."""

_STEPS_BETWEEN_LOOKS: Final = 10_000

Rows = list[dict[str, Any]]


class DatabaseError(Exception):
    """A database cannot be asked, or does not answer; the message is the whole explanation."""


def check(url: str) -> None:
    """Raise ``DatabaseError`` if no engine can be made for a URL: a bad one, or no driver."""
    _engine(_read(url), Path(), 1.0)


def ask(
    url: str, sql: str, parameters: Mapping[str, Any], *, folder: Path, within_s: float
) -> Rows:
    """Return the rows that a query finds. Blocks; raises ``DatabaseError``.

    SQLite's file is seen from ``folder``.
    """
    engine = _engine(_read(url), folder, within_s)
    try:
        with engine.connect() as connection:
            if read_only := _READ_ONLY.get(kind_of(engine.dialect)):
                for statement in read_only(within_s):
                    connection.execute(text(statement))
            rows = connection.execute(text(sql), dict(parameters)).mappings().all()
            return [{str(name): value for name, value in row.items()} for row in rows]
    except DBAPIError as error:
        raise DatabaseError(_first_line(error.orig or error)) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise DatabaseError(_first_line(error)) from None
    finally:
        engine.dispose()


def kind_of(dialect: Dialect) -> str:
    """Return what a server is, once it was connected to: a MariaDB answers to MySQL's name."""
    return "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name


_READ_ONLY: Final[dict[str, Callable[[float], tuple[str, ...]]]] = {
    "postgresql": lambda within_s: (
        "SET TRANSACTION READ ONLY",
        f"SET LOCAL statement_timeout = {int(within_s * 1000)}",
    ),
    "mysql": lambda within_s: (
        "SET SESSION TRANSACTION READ ONLY",
        f"SET SESSION max_execution_time = {int(within_s * 1000)}",
    ),
    "mariadb": lambda within_s: (
        "SET SESSION TRANSACTION READ ONLY",
        f"SET SESSION max_statement_time = {within_s:g}",
    ),
}


def _read(url: str) -> URL:
    try:
        read = make_url(url)
    except ArgumentError:
        raise DatabaseError(
            "expected a SQLAlchemy URL as postgresql://user:password@host/name"
        ) from None
    kind, _, driver = read.drivername.partition("+")
    if kind in _DRIVERS and (not driver or driver not in _BLOCKING):
        return read.set(drivername=_DRIVERS[kind])
    return read


def _engine(url: URL, folder: Path, within_s: float) -> Engine:
    options: dict[str, Any] = {"poolclass": NullPool}
    if url.get_backend_name() == "sqlite":
        options["creator"] = lambda: _sqlite(url, folder, within_s)
    elif url.get_backend_name() in {"postgresql", "mysql", "mariadb"}:
        options["connect_args"] = {"connect_timeout": max(2, int(within_s))}
    try:
        return create_engine(url, **options)
    except NoSuchModuleError:
        raise DatabaseError(f"SQLAlchemy knows no database {url.drivername!r}") from None
    except ModuleNotFoundError as error:
        raise DatabaseError(
            f"{url.drivername} needs the Python package {error.name!r}, which is not installed"
        ) from None


def _sqlite(url: URL, folder: Path, within_s: float) -> sqlite3.Connection:
    """Open a file that must exist already, and may not be written to."""
    file = (folder / (url.database or "")).absolute()
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode=rw", uri=True, timeout=within_s, check_same_thread=False
    )
    ends_at_s = time.monotonic() + within_s
    connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(lambda: time.monotonic() > ends_at_s, _STEPS_BETWEEN_LOOKS)
    return connection


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
