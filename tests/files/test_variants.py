"""What differs when a customer presses not quite the same, and what does not."""

import json
from typing import Any, get_args
from urllib.parse import parse_qsl

import pytest

from onecharge.history.story import Variant
from onecharge.keys import PAIR, SINGLE
from onecharge.press import Order, Prepared, Press
from onecharge.service_file import ServiceFile
from onecharge.variants import MISMATCHING, jittered, values_of, why_not
from onecharge.world.orders import alike, amount_of, of_tenant, orders_of

FILE: dict[str, Any] = {
    "service": {"name": "shop", "command": ["none"]},
    "provider": {"dialect": "generic"},
    "charge": {
        "path": "/charges",
        "headers": {"Authorization": "Bearer {token}"},
        "json": {
            "amount": "{amount_minor}",
            "currency": "{currency}",
            "customer": "{customer}",
            "order": "{order}",
        },
    },
    "refund": {"path": "/refunds/{charge}"},
    "tenants": {"north": "tok_n", "south": "tok_s"},
    "capabilities": {"webhooks": False, "read_back": False, "effects": False},
}


def file(**tables: Any) -> ServiceFile:
    return ServiceFile.model_validate({**FILE, **tables})


@pytest.fixture
def order() -> Order:
    return orders_of(file(), "variants", 1, seed=1)[0]


@pytest.mark.parametrize(
    "variant, changed",
    [
        ("same", set()),
        ("header_jitter", set()),
        ("json_jitter", set()),
        ("other_amount", {"amount_minor", "amount_decimal"}),
        ("other_currency", {"currency"}),
        ("other_customer", {"customer"}),
        ("new_key", {"key"}),
    ],
)
def test_a_variant_changes_one_thing(order: Order, variant: Variant, changed: set[str]) -> None:
    plain = order.values()

    sent = values_of(order, Press(variant), file(), attempt=2)

    assert {name for name in plain if sent[name] != plain[name]} == changed


def test_a_new_key_is_new_each_time(order: Order) -> None:
    keys = [values_of(order, Press("new_key"), file(), attempt)["key"] for attempt in (1, 2)]
    assert len({order.key, *keys}) == 3


def test_a_given_key_takes_the_place_of_the_orders_own(order: Order) -> None:
    assert values_of(order, Press(key=""), file(), 1)["key"] == ""


def test_another_amount_is_nobodys_own(order: Order) -> None:
    amounts = {each.amount_minor for each in orders_of(file(), "variants", 100, seed=1)}
    assert values_of(order, Press("other_amount"), file(), 1)["amount_minor"] not in amounts


def test_with_a_price_list_another_amount_is_another_price() -> None:
    prices = file(orders={"amounts": [1900, 4900]})
    one, two, three = orders_of(prices, "prices", 3, seed=1)

    assert {one.amount_minor, two.amount_minor} == {1900, 4900}
    assert three.amount_minor == one.amount_minor == amount_of(prices, 1)
    sent = values_of(one, Press("other_amount"), prices, 1)
    assert sent["amount_minor"] == two.amount_minor


def test_an_amount_has_the_decimals_of_its_currency() -> None:
    def shown(currency: str) -> str:
        [order] = orders_of(file(orders={"currency": currency}), "decimals", 1, seed=1)
        return str(order.values()["amount_decimal"])

    assert (shown("EUR"), shown("JPY"), shown("KWD")) == ("10.01", "1001", "1.001")


@pytest.mark.parametrize(
    "tables, variant, reason",
    [
        ({"tenants": {"shop": "tok"}}, "other_tenant", "[tenants] names one tenant only"),
        ({"orders": {"amounts": [5]}}, "other_amount", "[orders] amounts has one price only"),
        ({"refund": None}, "other_operation", "there is neither a table [refund] nor [capture]"),
        ({"charge": {"path": "/c"}}, "json_jitter", "[charge] has no body"),
        ({"charge": {"path": "/c"}}, "other_customer", "[charge] names no customer"),
        (
            {"charge": {"path": "/c"}},
            "other_amount",
            "[charge] names no amount_decimal or amount_minor",
        ),
    ],
)
def test_what_a_service_cannot_be_sent_is_said(
    tables: dict[str, Any], variant: Variant, reason: str
) -> None:
    assert why_not(variant, file(**tables)) == reason


def test_everything_can_be_sent_to_a_service_with_everything() -> None:
    assert [why_not(variant, file()) for variant in get_args(Variant)] == [None] * 9
    assert set(get_args(Variant)) > MISMATCHING


def test_json_is_spelt_otherwise_and_says_the_same() -> None:
    body = json.dumps({"a": 1, "b": {"c": [1, {"d": 2, "e": 3}], "f": "x y"}})
    request = Prepared("POST", "/", {"Content-Type": "application/json"}, body)

    other = jittered(request, "json_jitter", seed=3).body

    assert other is not None
    assert other != body
    assert json.loads(other) == json.loads(body)
    assert list(json.loads(other)) == ["b", "a"]
    assert jittered(request, "json_jitter", seed=3).body == other


def test_a_form_is_spelt_otherwise_and_says_the_same() -> None:
    kind = "application/x-www-form-urlencoded"
    request = Prepared("POST", "/", {"Content-Type": kind}, "a=1&b=x+y&c=")

    other = jittered(request, "json_jitter", seed=1).body

    assert other == "c=&b=x+y&a=1"
    assert sorted(parse_qsl(other, keep_blank_values=True)) == [("a", "1"), ("b", "x y"), ("c", "")]


def test_headers_that_mean_nothing_change_and_the_others_stay() -> None:
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    request = Prepared("POST", "/", headers, "{}")

    seen = [jittered(request, "header_jitter", seed).headers for seed in (1, 2)]

    assert seen[0] != seen[1]
    for one in seen:
        kept = {name.lower(): value for name, value in one.items()}
        assert kept["idempotency-key"] == "k"
        assert kept["content-type"] == "application/json; charset=utf-8"
        assert {"user-agent", "traceparent"} < set(kept)


def test_what_has_no_jitter_is_sent_as_it_is() -> None:
    request = Prepared("GET", "/", {}, None)
    assert jittered(request, "same", seed=1) is request
    assert jittered(request, "json_jitter", seed=1) is request


@pytest.mark.parametrize("name", SINGLE)
def test_a_key_at_the_edge_is_an_orders_own(name: Any) -> None:
    one, two = SINGLE[name]("key-1-1-aaaa"), SINGLE[name]("key-1-2-bbbb")
    assert "\n" not in one
    assert one != two or not one.strip()


def test_the_lengths_of_keys_are_what_they_are_called() -> None:
    assert [len(SINGLE[name]("key-1")) for name in ("empty", "255", "256", "2000")] == [
        *(0, 255, 256, 2000)
    ]


@pytest.mark.parametrize("name", PAIR)
def test_keys_that_look_alike_are_two(name: Any) -> None:
    one, two = PAIR[name]("key-1-1-aaaa")
    assert one != two


def test_keys_with_a_common_prefix_differ_after_forty_five_characters() -> None:
    one, two = PAIR["common_prefix"]("key-1")
    assert one[:45] == two[:45]


def test_two_genuine_purchases_are_alike_and_two(order: Order) -> None:
    other = alike(order, 7)
    assert (other.customer, other.amount_minor) == (order.customer, order.amount_minor)
    assert other.reference == order.reference.rpartition("-")[0] + "-7"
    assert other.key != order.key


def test_another_tenants_order_is_a_purchase_of_its_own(order: Order) -> None:
    other = of_tenant(order, 8, "south", "tok_s")
    assert (other.tenant, other.token) == ("south", "tok_s")
    assert {other.customer, other.reference, other.key}.isdisjoint(
        {order.customer, order.reference, order.key}
    )
