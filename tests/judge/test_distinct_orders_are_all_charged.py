"""Purchases that look alike."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants.distinct_orders_are_all_charged import judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

TWIN: dict[str, Any] = {"customer": "cus-1", "amount_minor": 500}


@pytest.fixture
def tale(tell: type["Tale"]) -> "Tale":
    return tell("ord-1", "ord-2", announced=False)


def test_two_equal_purchases_are_charged_twice(tale: "Tale") -> None:
    for order in ("ord-1", "ord-2"):
        asked = tale.asks(order, **TWIN)
        tale.told(asked, provider_charge=tale.captures(tale.calls(order, order), **TWIN))

    assert judge(tale.case()).verdict == "holds"


def test_one_of_two_equal_purchases_may_be_declined(tale: "Tale") -> None:
    one, two = tale.asks("ord-1", **TWIN), tale.asks("ord-2", **TWIN)
    tale.told(one, provider_charge=tale.captures(tale.calls("ord-1"), **TWIN))
    tale.declines(tale.calls("ord-2"), **TWIN)
    tale.told(two, "declined")

    assert judge(tale.case()).verdict == "holds"


def test_a_purchase_answered_with_another_ones_charge_is_seen(tale: "Tale") -> None:
    one, two = tale.asks("ord-1", **TWIN), tale.asks("ord-2", **TWIN)
    charge = tale.captures(tale.calls("ord-1", "up-1"), **TWIN)
    tale.told(one, provider_charge=charge)
    tale.told(two, provider_charge=charge)

    [violation] = judge(tale.case()).violations

    assert violation.order == "ord-2"
    assert violation.says == (
        "ord-1 and ord-2 were both answered with ch_1, and ord-2 was never charged"
    )
    assert violation.boundary == "client → API"
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_a_provider_key_that_both_shared_opens_the_way_to_the_provider(tale: "Tale") -> None:
    one, two = tale.asks("ord-1", **TWIN), tale.asks("ord-2", **TWIN)
    call = tale.calls("ord-1", "cus-1-500")
    charge = tale.captures(call, **TWIN)
    tale.told(one)
    tale.replies(tale.calls("ord-2", "cus-1-500"), charge=charge, replayed=True)
    tale.told(two, status=201)

    [violation] = judge(tale.case()).violations

    assert violation.says == "2 equal orders were told ok and 1 charged: ord-2 was not"
    assert violation.boundary == "API → provider"
    assert violation.cause == "both were sent under the provider key cus-1-500"


def test_different_orders_may_not_share_a_charge_either(tell: type["Tale"]) -> None:
    tale = tell("ord-1", "ord-2")
    charge = tale.pays("ord-1")
    tale.told(tale.asks("ord-2"), provider_charge=charge)
    assert judge(tale.case()).verdict == "violated"


def test_one_key_for_two_orders_is_another_claims(tell: type["Tale"]) -> None:
    tale = tell("ord-1", "ord-2")
    charge = tale.pays("ord-1")
    tale.told(tale.asks("ord-2", key="key-ord-1"), provider_charge=charge)
    assert not judge(tale.case()).exercised


def test_a_missing_charge_may_be_one_that_could_not_be_tied(tale: "Tale") -> None:
    one, two = tale.asks("ord-1", **TWIN), tale.asks("ord-2", **TWIN)
    tale.asks("ord-3")
    charge = tale.captures(tale.calls("ord-1"), **TWIN)
    tale.captures(tale.calls(None), reference=None, customer=None, amount_minor=7)
    tale.told(one)
    tale.told(two)
    assert judge(tale.case()).verdict == "unknown"

    tale.told(tale.asks("ord-1", **TWIN), provider_charge=charge)
    tale.told(tale.asks("ord-2", **TWIN), provider_charge=charge)
    [reason, *_] = judge(tale.case()).reasons

    assert "could not be tied to an order: have the service send {order}" in reason


def test_orders_of_nobody_in_particular_are_no_look_alikes(tale: "Tale") -> None:
    for order in ("ord-1", "ord-2"):
        tale.told(tale.asks(order, customer=None, amount_minor=500))

    assert not judge(tale.case()).exercised


def test_orders_that_differ_are_nothing_to_judge(tell: type["Tale"]) -> None:
    tale = tell("ord-1", "ord-2")
    tale.pays("ord-1")
    tale.pays("ord-2")

    assert not judge(tale.case()).exercised
