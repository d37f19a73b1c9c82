"""What the migrations make is what ``schema.py`` says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, make_url, text

import reference_impl.migrations
from reference_impl.migrations import HEAD, upgrade
from reference_impl.schema import metadata


@pytest.fixture
def engine(database_url: str) -> Engine:
    return create_engine(make_url(database_url).set(drivername="postgresql+psycopg"))


def _checks(connection: Connection) -> Sequence[Any]:
    # What the comparison does not look at: checks, and the whole text of every constraint.
    return connection.execute(
        text(
            "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint"
            " where connamespace = 'public'::regnamespace and conrelid <> 0"
            " and conrelid::regclass::text <> 'alembic_version'"
            " union all select tablename, indexname, indexdef from pg_indexes"
            " where schemaname = 'public' and tablename <> 'alembic_version' order by 1, 2, 3"
        )
    ).all()


def test_the_migrated_tables_are_those_of_the_schema(engine: Engine) -> None:
    with engine.begin() as connection:
        upgrade(connection)
        found = compare_metadata(MigrationContext.configure(connection), metadata)
        migrated = _checks(connection)
    with engine.begin() as connection:
        connection.execute(text("drop table ledger, events, operations"))
        metadata.create_all(connection)
        made = _checks(connection)
    engine.dispose()

    assert found == []
    assert migrated == made
    assert len(made) > 20


def test_a_second_start_changes_nothing(engine: Engine) -> None:
    for _ in range(2):
        with engine.begin() as connection:
            upgrade(connection)
            versions = connection.execute(text("select version_num from alembic_version")).all()
    engine.dispose()

    assert [tuple(row) for row in versions] == [(HEAD,)]


def test_the_head_is_the_newest_step() -> None:
    steps = Config()
    folder = Path(reference_impl.migrations.__file__).parent
    steps.set_main_option("script_location", str(folder))

    assert ScriptDirectory.from_config(steps).get_heads() == [HEAD]


def test_every_constraint_has_a_name() -> None:
    assert all(
        constraint.name for table in metadata.tables.values() for constraint in table.constraints
    )
