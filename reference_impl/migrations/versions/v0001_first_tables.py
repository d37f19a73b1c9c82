"""The first tables: operations, events and the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("provider_charge", sa.Text(), nullable=True),
        sa.Column("taken_in_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="events_pkey"),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("order", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("customer", sa.Text(), nullable=False),
        sa.Column("capture", sa.Boolean(), nullable=False),
        sa.Column("invoice", sa.Text(), nullable=True),
        sa.Column("charge_id", sa.Text(), nullable=True),
        sa.Column("upstream_key", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_token", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("asked", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ask_again_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'in_flight'"), nullable=False),
        sa.Column("provider_charge", sa.Text(), nullable=True),
        sa.Column("provider_refund", sa.Text(), nullable=True),
        sa.Column("captured_minor", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("refunded_minor", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "refunded_before_minor", sa.BigInteger(), server_default=sa.text("0"), nullable=False
        ),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("reply_status", sa.Integer(), nullable=True),
        sa.Column("reply_body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(kind = 'invoice') = (invoice is not null)", name="an_invoice_is_named"
        ),
        sa.CheckConstraint(
            "(kind in ('capture', 'refund')) = (charge_id is not null)"
            " and (charge_id is null or provider_charge is not null)",
            name="a_change_names_its_charge",
        ),
        sa.CheckConstraint(
            "(status = 'in_flight') = (reply_body is null)"
            " and (reply_body is null) = (reply_status is null)"
            " and (reply_body is null) = (settled_at is null)",
            name="settled_with_an_answer",
        ),
        sa.CheckConstraint(
            "captured_minor between 0 and amount_minor"
            " and (status <> 'succeeded' or charge_id is not null or captured_minor > 0)",
            name="captures_never_exceed",
        ),
        sa.CheckConstraint(
            "kind in ('charge', 'invoice', 'capture', 'refund')", name="a_known_operation"
        ),
        sa.CheckConstraint(
            "status in ('in_flight', 'authorised', 'succeeded', 'failed')", name="a_known_status"
        ),
        sa.CheckConstraint(
            "status not in ('succeeded', 'authorised') or provider_charge is not null",
            name="succeeded_at_the_provider",
        ),
        sa.CheckConstraint("amount_minor > 0", name="a_positive_amount"),
        sa.CheckConstraint(
            "refunded_minor between 0 and captured_minor", name="refunds_never_exceed"
        ),
        sa.ForeignKeyConstraint(["charge_id"], ["operations.id"], name="a_change_has_its_charge"),
        sa.PrimaryKeyConstraint("id", name="operations_pkey"),
        sa.UniqueConstraint("tenant", "kind", "key", name="one_operation_per_key"),
        sa.UniqueConstraint("upstream_key", name="one_operation_per_upstream_key"),
    )
    op.create_index("one_charge_per_invoice", "operations", ["tenant", "invoice"], unique=True)
    op.create_index(
        "one_charge_per_provider_charge",
        "operations",
        ["provider_charge"],
        unique=True,
        postgresql_where=sa.text("charge_id is null"),
    )
    op.create_index(
        "one_open_change_per_charge",
        "operations",
        ["charge_id"],
        unique=True,
        postgresql_where=sa.text("status = 'in_flight' and charge_id is not null"),
    )
    op.create_index("one_operation_per_refund", "operations", ["provider_refund"], unique=True)
    op.create_index("operations_by_order", "operations", ["order"], unique=False)
    op.create_index(
        "operations_open",
        "operations",
        ["ask_again_at"],
        unique=False,
        postgresql_where=sa.text("status = 'in_flight'"),
    )
    op.create_table(
        "ledger",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("charge_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("refund", sa.Text(), nullable=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("debit", sa.Text(), nullable=False),
        sa.Column("credit", sa.Text(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("booked_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(kind = 'refund') = (refund is not null)", name="a_refund_is_named"),
        sa.CheckConstraint("kind in ('charge', 'refund')", name="a_known_kind"),
        sa.CheckConstraint("amount_minor > 0", name="a_positive_entry"),
        sa.CheckConstraint("debit <> credit", name="between_two_accounts"),
        sa.ForeignKeyConstraint(["charge_id"], ["operations.id"], name="an_entry_has_its_charge"),
        sa.PrimaryKeyConstraint("id", name="ledger_pkey"),
        sa.UniqueConstraint(
            "charge_id",
            "kind",
            "refund",
            name="one_entry_per_effect",
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_index(
        "ledger_by_credit",
        "ledger",
        ["tenant", "credit"],
        unique=False,
        postgresql_where=sa.text("kind = 'charge'"),
    )
    op.create_index(
        "ledger_by_debit",
        "ledger",
        ["tenant", "debit"],
        unique=False,
        postgresql_where=sa.text("kind = 'refund'"),
    )


def downgrade() -> None:
    for table in ("ledger", "events", "operations"):
        op.drop_table(table)
