"""A test for each constraint: what the code should never try, the database does not let it."""

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

# One's own row again, with a difference.
COPY = "insert into operations select {columns} from operations"
DIFFERENT = {
    "id": "'pay_2'",
    "key": "'key-2'",
    "upstream_key": "'charge-2'",
    "provider_charge": "'ch_2'",
}
ENTRY = (
    "insert into ledger (id, charge_id, kind, refund, tenant, debit, credit, amount_minor,"
    " currency, booked_at) select 'le_2', charge_id, {kind}, {refund}, tenant, debit, credit,"
    " {amount}, currency, booked_at from ledger where kind = 'charge'"
)


async def _columns(shop: "Shop", same: str) -> str:
    names = await shop.rows(
        "select column_name as name from information_schema.columns"
        " where table_name = 'operations' order by ordinal_position"
    )
    different = {name: value for name, value in DIFFERENT.items() if name != same}
    return ", ".join(different.get(row["name"], f'"{row["name"]}"') for row in names)


@pytest.mark.parametrize(
    "same, constraint",
    [
        ("key", "one_operation_per_key"),
        ("upstream_key", "one_operation_per_upstream_key"),
        ("provider_charge", "one_charge_per_provider_charge"),
        ("id", "operations_pkey"),
    ],
)
async def test_two_charges_never_share(shop: "Shop", same: str, constraint: str) -> None:
    await shop.open()
    await shop.pay()

    with pytest.raises(psycopg.errors.UniqueViolation) as refused:
        await shop.rows(COPY.format(columns=await _columns(shop, same)))

    assert refused.value.diag.constraint_name == constraint


async def test_a_charge_that_differs_in_all_of_these_is_welcome(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()

    await shop.rows(COPY.format(columns=await _columns(shop, "nothing")))

    assert len(await shop.rows("select 1 from operations")) == 2


@pytest.mark.parametrize(
    "change, constraint",
    [
        ("amount_minor = 0", "a_positive_amount"),
        ("status = 'lost'", "a_known_status"),
        ("status = 'in_flight'", "settled_with_an_answer"),
        ("reply_body = null", "settled_with_an_answer"),
        ("reply_status = null", "settled_with_an_answer"),
        ("settled_at = null", "settled_with_an_answer"),
        ("provider_charge = null", "succeeded_at_the_provider"),
        ("kind = 'gift'", "a_known_operation"),
        ("kind = 'refund'", "a_change_names_its_charge"),
        ("kind = 'invoice'", "an_invoice_is_named"),
        ("invoice = 'in_1'", "an_invoice_is_named"),
        ("captured_minor = 501", "captures_never_exceed"),
        ("captured_minor = 0", "captures_never_exceed"),
        ("refunded_minor = 501", "refunds_never_exceed"),
        ("refunded_minor = -1", "refunds_never_exceed"),
    ],
)
async def test_a_charge_never_contradicts_itself(
    shop: "Shop", change: str, constraint: str
) -> None:
    await shop.open()
    await shop.pay()

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        await shop.rows(f"update operations set {change}")  # noqa: S608 - our own table of cases

    assert refused.value.diag.constraint_name == constraint


async def test_an_event_is_never_taken_in_twice(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    await shop.tell(await shop.provider_charge())

    with pytest.raises(psycopg.errors.UniqueViolation):
        await shop.rows("insert into events select * from events")


@pytest.mark.parametrize(
    "kind, refund, amount, constraint",
    [
        ("'charge'", "null", "amount_minor", "one_entry_per_effect"),
        ("'refund'", "'re_1'", "amount_minor", "one_entry_per_effect"),
        ("'refund'", "null", "amount_minor", "a_refund_is_named"),
        ("'charge'", "'re_2'", "amount_minor", "a_refund_is_named"),
        ("'refund'", "'re_2'", "0", "a_positive_entry"),
        ("'gift'", "null", "amount_minor", "a_known_kind"),
    ],
)
async def test_an_effect_is_never_booked_twice_or_without_sense(
    shop: "Shop", kind: str, refund: str, amount: str, constraint: str
) -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()
    await shop.tell(charge, refund={"id": "re_1", "charge": "ch_1", "amount_minor": 100})

    with pytest.raises(psycopg.IntegrityError) as refused:
        await shop.rows(ENTRY.format(kind=kind, refund=refund, amount=amount))

    assert refused.value.diag.constraint_name == constraint


async def test_an_entry_belongs_to_a_charge(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()

    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await shop.rows("update ledger set charge_id = 'pay_9'")


async def test_an_entry_takes_from_one_account_what_it_gives_another(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        await shop.rows("update ledger set debit = credit")

    assert refused.value.diag.constraint_name == "between_two_accounts"


OPERATION = (
    'insert into operations (id, kind, tenant, key, fingerprint, "order", amount_minor, currency,'
    " customer, capture, charge_id, provider_charge, upstream_key, lease_until, ask_again_at,"
    " created_at, invoice) select '{id}', '{kind}', tenant, '{id}', fingerprint, \"order\", 1,"
    " currency, customer, capture, {charge_id}, provider_charge || '{id}', '{id}', now(), now(),"
    " now(), {invoice} from operations where kind = 'charge'"
)


async def test_a_charge_is_changed_by_one_operation_at_a_time(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    change = {"kind": "refund", "charge_id": "id", "invoice": "null"}
    await shop.rows(OPERATION.format(id="ref_1", **change))

    with pytest.raises(psycopg.errors.UniqueViolation) as refused:
        await shop.rows(OPERATION.format(id="ref_2", **change | {"kind": "capture"}))

    assert refused.value.diag.constraint_name == "one_open_change_per_charge"


async def test_an_invoice_is_never_charged_twice(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    charge = {"kind": "invoice", "charge_id": "null", "invoice": "'in_1'"}
    await shop.rows(OPERATION.format(id="pay_2", **charge))

    with pytest.raises(psycopg.errors.UniqueViolation) as refused:
        await shop.rows(OPERATION.format(id="pay_3", **charge))

    assert refused.value.diag.constraint_name == "one_charge_per_invoice"


async def test_a_refund_of_the_provider_is_one_of_ours(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    for key in ("key-1", "key-2"):
        assert (await shop.refund(charge_id, key, amount_minor=100)).status == 201

    with pytest.raises(psycopg.errors.UniqueViolation) as refused:
        await shop.rows("update operations set provider_refund = 're_1' where kind = 'refund'")

    assert refused.value.diag.constraint_name == "one_operation_per_refund"


async def test_a_change_belongs_to_a_charge(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    await shop.refund(charge_id)

    with pytest.raises(psycopg.errors.ForeignKeyViolation) as refused:
        await shop.rows("update operations set charge_id = 'pay_9' where kind = 'refund'")

    assert refused.value.diag.constraint_name == "a_change_has_its_charge"
