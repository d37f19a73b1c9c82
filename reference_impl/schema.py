"""The tables. Their constraints are the guarantees; the code only translates the conflicts.

| what is promised                                       | which constraint keeps it          |
|--------------------------------------------------------|------------------------------------|
| one key of a tenant is one operation of its kind       | ``one_operation_per_key``          |
| an operation is never told apart by two upstream keys  | ``one_operation_per_upstream_key`` |
| a real charge belongs to one charge of ours            | ``one_charge_per_provider_charge`` |
| an invoice is charged once, whatever event tells of it | ``one_charge_per_invoice``         |
| a charge is changed by one operation at a time         | ``one_open_change_per_charge``     |
| refunds never exceed what was captured                 | ``refunds_never_exceed``           |
| a capture never exceeds what was authorised            | ``captures_never_exceed``          |
| an event has its effect once                           | ``events_pkey``                    |
| an effect is booked once, whoever learns of it first   | ``one_entry_per_effect``           |
| an entry takes from one account what it gives another  | ``between_two_accounts``           |
| a settled operation has its answer, an open one none   | ``settled_with_an_answer``         |
| money moved has the provider's word for it             | ``succeeded_at_the_provider``      |

The same tables as steps from one version to the next: ``migrations/``.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

operations = Table(
    "operations",
    metadata,
    Column("id", Text),
    Column("kind", Text, nullable=False),
    # Who asked for it, under which key, and a digest of what was asked.
    Column("tenant", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    # What was asked.
    Column("order", Text, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("customer", Text, nullable=False),
    Column("capture", Boolean, nullable=False),
    Column("invoice", Text),  # the provider's id of the invoice, where an event asked for it
    Column("charge_id", Text, ForeignKey("operations.id", name="a_change_has_its_charge")),
    # What every attempt at the provider carries, chosen before the first one.
    Column("upstream_key", Text, nullable=False),
    # Who works on it. The token goes up with every owner, so that a late one is recognised.
    Column("lease_until", DateTime(timezone=True), nullable=False),
    Column("lease_token", BigInteger, nullable=False, server_default=text("1")),
    # How often it stayed unknown, and when the reconciler comes back to it.
    Column("asked", Integer, nullable=False, server_default=text("0")),
    Column("ask_again_at", DateTime(timezone=True), nullable=False),
    # What became of it.
    Column("status", Text, nullable=False, server_default=text("'in_flight'")),
    Column("provider_charge", Text),
    Column("provider_refund", Text),
    Column("captured_minor", BigInteger, nullable=False, server_default=text("0")),
    # Of a charge: what went back or is on its way back. Of a refund: what was so before it.
    Column("refunded_minor", BigInteger, nullable=False, server_default=text("0")),
    Column("refunded_before_minor", BigInteger, nullable=False, server_default=text("0")),
    Column("failure", Text),
    Column("reply_status", Integer),
    Column("reply_body", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("settled_at", DateTime(timezone=True)),
    PrimaryKeyConstraint("id", name="operations_pkey"),
    UniqueConstraint("tenant", "kind", "key", name="one_operation_per_key"),
    UniqueConstraint("upstream_key", name="one_operation_per_upstream_key"),
    CheckConstraint("amount_minor > 0", name="a_positive_amount"),
    CheckConstraint("kind in ('charge', 'invoice', 'capture', 'refund')", name="a_known_operation"),
    CheckConstraint(
        "status in ('in_flight', 'authorised', 'succeeded', 'failed')", name="a_known_status"
    ),
    CheckConstraint(
        "(kind in ('capture', 'refund')) = (charge_id is not null)"
        " and (charge_id is null or provider_charge is not null)",
        name="a_change_names_its_charge",
    ),
    CheckConstraint("(kind = 'invoice') = (invoice is not null)", name="an_invoice_is_named"),
    CheckConstraint(
        "captured_minor between 0 and amount_minor"
        " and (status <> 'succeeded' or charge_id is not null or captured_minor > 0)",
        name="captures_never_exceed",
    ),
    CheckConstraint("refunded_minor between 0 and captured_minor", name="refunds_never_exceed"),
    CheckConstraint(
        "(status = 'in_flight') = (reply_body is null)"
        " and (reply_body is null) = (reply_status is null)"
        " and (reply_body is null) = (settled_at is null)",
        name="settled_with_an_answer",
    ),
    CheckConstraint(
        "status not in ('succeeded', 'authorised') or provider_charge is not null",
        name="succeeded_at_the_provider",
    ),
    Index(
        "one_charge_per_provider_charge",
        "provider_charge",
        unique=True,
        postgresql_where=text("charge_id is null"),
    ),
    Index("one_operation_per_refund", "provider_refund", unique=True),
    Index("one_charge_per_invoice", "tenant", "invoice", unique=True),
    Index(
        "one_open_change_per_charge",
        "charge_id",
        unique=True,
        postgresql_where=text("status = 'in_flight' and charge_id is not null"),
    ),
    Index("operations_by_order", "order"),
    Index("operations_open", "ask_again_at", postgresql_where=text("status = 'in_flight'")),
)

events = Table(
    "events",
    metadata,
    Column("id", Text),
    Column("type", Text, nullable=False),
    Column("provider_charge", Text),
    Column("taken_in_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("id", name="events_pkey"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", Text),
    Column(
        "charge_id",
        Text,
        ForeignKey("operations.id", name="an_entry_has_its_charge"),
        nullable=False,
    ),
    Column("kind", Text, nullable=False),
    Column("refund", Text),  # the provider's id of the refund, where it is one
    Column("told_by", Text),  # the event that told of it first; none where an answer did
    # One row is a whole double entry: it debits one account and credits the other.
    Column("tenant", Text, nullable=False),
    Column("debit", Text, nullable=False),
    Column("credit", Text, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("booked_at", DateTime(timezone=True), nullable=False),
    PrimaryKeyConstraint("id", name="ledger_pkey"),
    UniqueConstraint(
        "charge_id",
        "kind",
        "refund",
        name="one_entry_per_effect",
        postgresql_nulls_not_distinct=True,  # a charge has no refund: still only one of it
    ),
    CheckConstraint("debit <> credit", name="between_two_accounts"),
    CheckConstraint("amount_minor > 0", name="a_positive_entry"),
    CheckConstraint("kind in ('charge', 'refund')", name="a_known_kind"),
    CheckConstraint("(kind = 'refund') = (refund is not null)", name="a_refund_is_named"),
    Index("ledger_by_credit", "tenant", "credit", postgresql_where=text("kind = 'charge'")),
    Index("ledger_by_debit", "tenant", "debit", postgresql_where=text("kind = 'refund'")),
)
