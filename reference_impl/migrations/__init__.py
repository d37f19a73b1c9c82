"""The tables as steps from one version to the next, by Alembic.

Rule 1: a step that was released is never edited; a change of ``schema.py`` is a new file in
        ``versions/``. A test compares what the steps make with what ``schema.py`` says.
"""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

HEAD: Final = "0002"
"""The newest version, written here so that a start with nothing to do need not load Alembic."""


def upgrade(connection: Connection) -> None:
    """Run the steps that this database has not seen yet, in the caller's transaction."""
    if _version(connection) == HEAD:
        return
    from alembic import command  # noqa: PLC0415 - a fifth of a second that most starts save
    from alembic.config import Config  # noqa: PLC0415

    steps = Config()
    steps.set_main_option("script_location", str(Path(__file__).parent))
    steps.attributes["connection"] = connection
    command.upgrade(steps, "head")


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("select version_num from alembic_version")).scalar()
