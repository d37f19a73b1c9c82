"""A test for each constraint: what the code should never try, the database does not let it."""

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

COPY = "insert into charges select {columns} from charges"  # one's own row again, with a difference
DIFFERENT = {
    "id": "'pay_2'",
    "key": "'key-2'",
    "upstream_key": "'charge-2'",
    "provider_charge": "'ch_2'",
}
ENTRY = (
    "insert into ledger (id, charge_id, kind, refund, tenant, customer, amount_minor, currency,"
    " booked_at) select 'le_2', charge_id, {kind}, {refund}, tenant, customer, {amount}, currency,"
    " booked_at from ledger where kind = 'charge'"
)


async def _columns(shop: "Shop", same: str) -> str:
    names = await shop.rows(
        "select column_name as name from information_schema.columns"
        " where table_name = 'charges' order by ordinal_position"
    )
    different = {name: value for name, value in DIFFERENT.items() if name != same}
    return ", ".join(different.get(row["name"], f'"{row["name"]}"') for row in names)


@pytest.mark.parametrize(
    "same, constraint",
    [
        ("key", "one_charge_per_key"),
        ("upstream_key", "charges_upstream_key_key"),
        ("provider_charge", "charges_provider_charge_key"),
        ("id", "charges_pkey"),
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

    assert len(await shop.rows("select 1 from charges")) == 2


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
    ],
)
async def test_a_charge_never_contradicts_itself(
    shop: "Shop", change: str, constraint: str
) -> None:
    await shop.open()
    await shop.pay()

    with pytest.raises(psycopg.errors.CheckViolation) as refused:
        await shop.rows(f"update charges set {change}")  # noqa: S608 - our own table of cases

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
