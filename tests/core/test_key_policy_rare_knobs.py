"""Knobs that few providers have: companies and regions, orders as keys, outcomes not yet known."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.idempotency import BusinessKey, Refuse
from simulator.core.messages import HttpRequest, Reply
from simulator.core.rules import Rule
from simulator.dialects.generic import IETF
from simulator.faults.decline import Decline
from simulator.faults.in_flight import InFlight
from simulator.faults.stay_pending import StayPending

if TYPE_CHECKING:
    from .conftest import Build, Shop

NOT_YET = Refuse("undecided", 500, retry_after_s=60)
PROCESSING = Refuse("undecided", 202, retry_after_s=1800)


def headers(shop: "Shop", action: Any) -> dict[str, str]:
    return dict(shop.reply(action).headers)


# Whose key it is.


@pytest.mark.parametrize(
    "first,second,charges",
    [
        ("acme.shop", "acme.app", 1),
        ("acme", "acme.app", 1),
        ("acme.shop", "apex.shop", 2),
        ("acme.shop", "acmes.shop", 2),
    ],
)
def test_all_accounts_of_a_company_share_their_keys(
    provider: "Build", first: str, second: str, charges: int
) -> None:
    shop = provider(policy=replace(IETF, scope="company"))

    answers = [shop.charge(account=account) for account in (first, second)]

    assert [shop.status(answer) for answer in answers] == [201, 201]
    assert len(shop.captured()) == charges
    assert shop.entries("reply", "send")[1].value["replayed"] is (charges == 1)


def at(shop: "Shop", region: str) -> Any:
    """Charge for one order under one key, at the address of a region."""
    body = b'{"amount_minor":500,"currency":"EUR","reference":"ord-1"}'
    known = {"authorization": "Bearer acme.shop", "idempotency-key": "k"}
    request = HttpRequest("POST", "/v1/charges", (), known, body, source=region)
    [action] = shop.provider.receive(request, shop.now)
    return action


@pytest.mark.parametrize("scope", ["account", "account_and_operation", "company", "everyone"])
@pytest.mark.parametrize("regional,charges", [(False, 1), (True, 2)])
def test_who_turns_to_another_region_is_charged_twice_where_keys_are_regional(
    provider: "Build", scope: Any, *, regional: bool, charges: int
) -> None:
    shop = provider(policy=replace(IETF, scope=scope, regional=regional))

    for region in ("eu", "us", "eu", "us"):
        assert shop.status(at(shop, region)) == 201

    assert len(shop.captured()) == charges


# What a refusal says.


def test_a_refusal_may_say_in_a_header_of_its_own_whether_to_try_again(provider: "Build") -> None:
    said = ("transient-error", "true")
    policy = replace(
        IETF,
        in_flight=Refuse("key_in_flight", 422, headers=(said,)),
        mismatch=Refuse("key_mismatch", headers=(("transient-error", "false"),)),
    )
    shop = provider(Rule(InFlight(), "busy", nth=1), policy=policy)

    busy, done, other = shop.charge(), shop.charge(), shop.charge(amount_minor=501)

    assert [shop.status(action) for action in (busy, done, other)] == [422, 201, 422]
    assert headers(shop, busy)["transient-error"] == "true"
    assert "transient-error" not in headers(shop, done)
    assert headers(shop, other)["transient-error"] == "false"


# The merchant's order is a key as well.


def test_a_second_charge_for_an_order_is_refused_and_named(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, business=BusinessKey()))
    made = shop.data(shop.charge(key="key-1"))

    again = shop.charge(key="key-2")

    assert shop.status(again) == 422
    assert shop.data(again)["code"] == "order_charged"
    assert shop.data(again)["resource"] == made["id"]
    assert shop.captured() == ["ch_1"]
    assert shop.status(shop.charge("ord-2", key="key-3")) == 201


def test_a_second_charge_for_an_order_may_be_answered_with_the_first(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, business=BusinessKey("same_charge")))
    made = shop.data(shop.charge(key="key-1"))

    again = shop.charge(key="key-2")

    assert (shop.status(again), shop.data(again)) == (200, made)
    assert shop.captured() == ["ch_1"]
    assert shop.entries("reply", "send")[1].value["charge"] == "ch_1"


def test_an_order_is_guarded_where_no_key_comes_along(provider: "Build") -> None:
    policy = replace(IETF, required_for=frozenset(), business=BusinessKey())
    shop = provider(policy=policy)

    answers = [shop.status(shop.charge(key=None)) for _ in range(3)]

    assert answers == [201, 422, 422]


def test_the_refusal_of_an_order_is_bound_to_its_key_like_any_answer(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, business=BusinessKey()))
    shop.charge(key="key-1")

    first, second = shop.charge(key="key-2"), shop.charge(key="key-2")

    assert shop.reply(first).body == shop.reply(second).body
    assert headers(shop, second)["idempotent-replayed"] == "true"


def test_an_order_that_was_declined_or_cancelled_can_be_charged(provider: "Build") -> None:
    shop = provider(Rule(Decline(), "no", nth=1), policy=replace(IETF, business=BusinessKey()))
    assert shop.status(shop.charge(key="key-1")) == 402
    shop.charge(key="key-2", capture=False)
    shop.send("POST", "/v1/charges/ch_2/cancel", key="cancel")

    assert shop.status(shop.charge(key="key-3")) == 201
    assert shop.captured() == ["ch_3"]


def test_what_has_no_order_and_what_is_anothers_is_guarded_from_nothing(
    provider: "Build",
) -> None:
    shop = provider(policy=replace(IETF, business=BusinessKey()))

    shop.charge(key="key-1")
    shop.charge(key="key-1", account="neighbour")
    for number in range(2):
        shop.charge(key=f"none-{number}", reference=None)

    assert len(shop.captured()) == 4


def test_a_guard_lasts_as_long_as_it_says(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, business=BusinessKey(within_s=30)))
    shop.charge(key="key-1")

    shop.now = 29.9
    assert shop.status(shop.charge(key="key-2")) == 422
    shop.now = 30.0
    assert shop.status(shop.charge(key="key-3")) == 201


@pytest.mark.parametrize("changed", [{"amount_minor": 501}, {"customer": "cus-2"}])
def test_a_guard_may_look_at_more_than_the_order(
    provider: "Build", changed: dict[str, Any]
) -> None:
    guard = BusinessKey(alike=("amount_minor", "customer"))
    shop = provider(policy=replace(IETF, business=guard))
    shop.charge(key="key-1")

    assert shop.status(shop.charge(key="key-2")) == 422
    assert shop.status(shop.charge(key="key-3", **changed)) == 201


# The bank has not decided.


@pytest.mark.parametrize("not_yet", [NOT_YET, PROCESSING])
@pytest.mark.parametrize("stored", ["all", "2xx", "non_5xx", "nothing"])
def test_an_outcome_that_is_not_known_is_told_as_such_until_it_is(
    provider: "Build", not_yet: Refuse, stored: Any
) -> None:
    policy = replace(IETF, undecided=not_yet, stored=stored)
    shop = provider(Rule(StayPending(for_ms=60_000), "slow bank", times=1), policy=policy)

    first, second = shop.charge(), shop.charge()
    shop.now = 60.0
    third = shop.charge()

    assert [shop.status(each) for each in (first, second)] == [not_yet.status] * 2
    assert headers(shop, second)["retry-after"] == str(not_yet.retry_after_s)
    assert shop.status(third) == 201
    assert shop.data(third)["status"] == "captured"
    assert shop.captured() == ["ch_1"]


def test_a_decline_that_was_long_in_coming_is_a_decline(provider: "Build") -> None:
    ponder = StayPending(for_ms=60_000, decline="insufficient_funds")
    shop = provider(Rule(ponder, "slow bank", times=1), policy=replace(IETF, undecided=NOT_YET))
    shop.charge()
    shop.now = 60.0

    told = shop.charge()

    assert shop.status(told) == 402
    assert shop.data(told)["decline_code"] == "insufficient_funds"
    assert shop.captured() == []


def test_where_the_bank_decides_at_once_nobody_has_to_wait(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, undecided=NOT_YET))

    answers = [shop.charge(), shop.charge()]

    assert [shop.status(each) for each in answers] == [201, 201]
    assert headers(shop, answers[1])["idempotent-replayed"] == "true"


def test_a_lookup_tells_of_a_charge_whose_outcome_was_not_told(provider: "Build") -> None:
    shop = provider(Rule(StayPending(), "slow bank"), policy=replace(IETF, undecided=NOT_YET))
    asked = shop.charge()
    assert isinstance(asked, Reply)

    shown = shop.send("GET", "/v1/charges", query=(("reference", "ord-1"),))

    assert [charge["status"] for charge in shop.data(shown)["data"]] == ["pending"]
