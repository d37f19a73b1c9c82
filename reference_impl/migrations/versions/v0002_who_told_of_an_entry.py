"""The ledger says which event told of an entry, where it was not an answer."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("ledger", sa.Column("told_by", sa.Text(), nullable=True))
