"""The service's books beside the provider's ledger."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants.books_agree import NEEDS, judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_the_same_on_both_sides_is_right(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 100)
    tale.settles()
    tale.believes("ord-1", effects=1, effects_minor=500, refunded_minor=100)
    tale.believes("ord-2", "absent", effects=0)

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize(
    "belief, says, boundary",
    [
        ({"effects": 2}, "1 charged, 2 booked", "provider → webhook receiver"),
        ({"effects": 0, "effects_minor": 0}, "1 charged, 0 booked", "API → provider"),
        (
            {"effects": 1, "effects_minor": 501},
            "5.00 EUR taken, 5.01 EUR booked",
            "API → provider",
        ),
        (
            {"effects": 1, "refunded_minor": 0},
            "1.00 EUR given back, 0.00 EUR booked",
            "API → provider",
        ),
    ],
)
def test_every_difference_is_seen(
    tale: "Tale", belief: dict[str, Any], says: str, boundary: str
) -> None:
    tale.refunds(tale.pays("ord-1"), 100)
    tale.settles()
    tale.believes("ord-1", **belief)

    [violation] = judge(tale.case()).violations

    assert violation.order is None
    assert violation.says == f"the books differ from the provider's in 1 order(s): ord-1: {says}"
    assert violation.boundary == boundary
    assert violation.at_risk_minor > 0
    assert {piece.side for piece in violation.evidence} == {"client", "provider", "service"}


def test_credits_under_the_wrong_orders_do_not_cancel_out_and_are_told_at_once(
    tell: type["Tale"],
) -> None:
    orders = [f"ord-{number}" for number in range(5)]
    tale = tell(*orders)
    for order in orders:
        tale.pays(order)
    tale.settles()
    for order in orders:
        tale.believes(order, effects=2)

    [violation] = judge(tale.case()).violations

    assert violation.says.startswith("the books differ from the provider's in 5 order(s): ord-0")
    assert violation.says.endswith(" and 2 more")


def test_before_all_is_settled_nothing_is_compared(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.believes("ord-1", effects=0)
    assert not judge(tale.case()).exercised

    tale.phase("heal")
    tale.judge("unknown", "converged", after_s=6.0, bound_s=5.0, missing=["x"])
    tale.phase("read")
    assert not judge(tale.case()).exercised

    tale.judge("unknown", "converged", after_s=20.0, bound_s=5.0, missing=["x"])
    assert judge(tale.case()).verdict == "violated"


def test_with_charges_of_nobody_every_sum_is_in_doubt(tale: "Tale") -> None:
    tale.asks("ord-2")
    tale.pays("ord-1")
    tale.captures(tale.calls(None), reference=None, customer=None, amount_minor=7)
    tale.ends_well("ord-1")

    assert not judge(tale.case()).exercised


def test_books_that_cannot_be_read_are_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()
    tale.believes("ord-1")

    assert not judge(tale.case()).exercised
    assert {"effects"} == NEEDS
