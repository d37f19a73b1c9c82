"""The tables. Their constraints are the guarantees; the code only translates the conflicts.

| what is promised                                       | which constraint keeps it       |
|--------------------------------------------------------|---------------------------------|
| one client key of a tenant is one charge               | ``one_charge_per_key``          |
| a charge is never told apart by two upstream keys      | ``upstream_key`` unique         |
| a real charge belongs to one charge of ours            | ``provider_charge`` unique      |
| an event has its effect once                           | primary key of ``events``       |
| an effect is booked once, whoever learns of it first   | ``one_entry_per_effect``        |
| a settled charge has its answer, an open one has none  | ``settled_with_an_answer``      |
| money moved has the provider's word for it             | ``succeeded_at_the_provider``   |
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

charges = Table(
    "charges",
    metadata,
    Column("id", Text, primary_key=True),
    # Who asked for it, under which key, and a digest of what was asked.
    Column("tenant", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    # What was asked.
    Column("order", Text, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("customer", Text, nullable=False),
    # What every attempt at the provider carries, chosen before the first one.
    Column("upstream_key", Text, nullable=False, unique=True),
    # Who works on it. The token goes up with every owner, so that a late one is recognised.
    Column("lease_until", DateTime(timezone=True), nullable=False),
    Column("lease_token", BigInteger, nullable=False, server_default=text("1")),
    # What became of it.
    Column("status", Text, nullable=False, server_default=text("'in_flight'")),
    Column("provider_charge", Text, unique=True),
    Column("failure", Text),
    Column("reply_status", Integer),
    Column("reply_body", LargeBinary),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("settled_at", DateTime(timezone=True)),
    UniqueConstraint("tenant", "key", name="one_charge_per_key"),
    CheckConstraint("amount_minor > 0", name="a_positive_amount"),
    CheckConstraint("status in ('in_flight', 'succeeded', 'failed')", name="a_known_status"),
    CheckConstraint(
        "(status = 'in_flight') = (reply_body is null)"
        " and (reply_body is null) = (reply_status is null)"
        " and (reply_body is null) = (settled_at is null)",
        name="settled_with_an_answer",
    ),
    CheckConstraint(
        "status <> 'succeeded' or provider_charge is not null", name="succeeded_at_the_provider"
    ),
    Index("charges_by_order", "tenant", "order"),
    Index("charges_by_reference", "order"),
    Index("charges_open", "lease_until", postgresql_where=text("status = 'in_flight'")),
)

events = Table(
    "events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("provider_charge", Text),
    Column("taken_in_at", DateTime(timezone=True), nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", Text, primary_key=True),
    Column("charge_id", Text, ForeignKey("charges.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("refund", Text),  # the provider's id of the refund, where it is one
    Column("tenant", Text, nullable=False),
    Column("customer", Text, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("booked_at", DateTime(timezone=True), nullable=False),
    UniqueConstraint(
        "charge_id",
        "kind",
        "refund",
        name="one_entry_per_effect",
        postgresql_nulls_not_distinct=True,  # a charge has no refund: still only one of it
    ),
    CheckConstraint("amount_minor > 0", name="a_positive_entry"),
    CheckConstraint("kind in ('charge', 'refund')", name="a_known_kind"),
    CheckConstraint("(kind = 'refund') = (refund is not null)", name="a_refund_is_named"),
    Index("ledger_by_account", "tenant", "customer"),
)
