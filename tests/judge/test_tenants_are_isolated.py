"""Two shops at one service."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants.tenants_are_isolated import NEEDS, judge
from simulator.core.journal import Entry

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def buys(tale: "Tale", order: str, tenant: str, charge: str = "", **told: Any) -> str:
    """Have a shop charge an order under the one key that both use."""
    asked = tale.asks(order, key="k", tenant=tenant)
    charge = charge or tale.captures(tale.calls(order, f"up-{tenant}"))
    tale.told(asked, provider_charge=charge, **told)
    return charge


@pytest.fixture
def tale(tell: type["Tale"]) -> "Tale":
    return tell("ord-1", "ord-2", announced=False)


def test_one_key_of_two_tenants_is_two_keys(tale: "Tale") -> None:
    buys(tale, "ord-1", "north", charge="", status=201)
    buys(tale, "ord-2", "south")

    assert judge(tale.case()).verdict == "holds"


def test_another_tenants_charge_in_an_answer_is_seen(tale: "Tale") -> None:
    buys(tale, "ord-2", "south", charge=buys(tale, "ord-1", "north"))

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-2 of south was answered with ch_1, a charge of north"
    assert violation.boundary == "client → API"
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_the_services_own_name_of_another_tenants_charge_is_seen_too(tale: "Tale") -> None:
    one = tale.asks("ord-1", key="a", tenant="north")
    tale.captures(tale.calls("ord-1"))
    tale.told(one, charge="s-1")
    tale.told(tale.asks("ord-2", key="b", tenant="south"), charge="s-1")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-2 of south was answered with s-1, a charge of north"


def test_a_key_that_stands_in_another_tenants_way_is_seen(tale: "Tale") -> None:
    buys(tale, "ord-1", "north")
    tale.refused("ord-2", key="k", tenant="south")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-2 of south was refused because north had used the key k"


def test_a_mismatch_that_is_ones_own_is_nobody_elses_fault(tale: "Tale") -> None:
    buys(tale, "ord-1", "north")
    buys(tale, "ord-2", "south")
    tale.refused("ord-2", key="k", tenant="south", variant="other_amount", amount_minor=9)

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize(
    "what, verb", [("read", "read"), ("refund", "give back"), ("capture", "capture")]
)
def test_a_stranger_who_is_let_in_is_seen(tale: "Tale", what: str, verb: str) -> None:
    buys(tale, "ord-1", "north")
    stranger = {"what": what, "tenant": "south", "variant": "other_tenant"}
    tale.refused("ord-1", "invalid", **stranger)
    assert judge(tale.case()).verdict == "holds"

    tale.told(tale.asks("ord-1", **stranger), "ok")
    [violation] = judge(tale.case()).violations

    assert violation.says == f"south could {verb} ord-1 of north"


def test_tenants_with_keys_of_their_own_are_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.asks("ord-2", tenant="south")
    tale.recorder(Entry("client:9", "invoke", {"what": "charge"}, "ord-3"))

    assert not judge(tale.case()).exercised
    assert {"tenants"} == NEEDS
