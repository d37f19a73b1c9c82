"""What kind of server answers: a MariaDB is often called by MySQL's name; its words are its own."""

import pytest
from sqlalchemy.dialects.mysql.base import MySQLDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from onecharge.databases import kind_of


@pytest.mark.parametrize(
    "dialect, kind",
    [
        (MySQLDialect(), "mysql"),
        (MySQLDialect(is_mariadb=True), "mariadb"),
        (SQLiteDialect(), "sqlite"),
    ],
)
def test_a_server_is_asked_in_its_own_words(
    dialect: MySQLDialect | SQLiteDialect, kind: str
) -> None:
    assert kind_of(dialect) == kind
