"""Which order a charge belongs to, and by which clue."""

from typing import Any

import pytest

from onecharge.history.attribution import Attribution, Clues, Planted, attribute

ONE = Planted("ord-1", frozenset({"cus-1"}), frozenset({(500, "EUR")}), opened_at=10, closed_at=20)
TWO = Planted("ord-2", frozenset({"cus-2"}), frozenset({(700, "EUR")}), opened_at=30, closed_at=40)


def tied(charge: Clues, *orders: Planted) -> tuple[str, str] | None:
    tie = attribute([charge], orders).ties.get(charge.charge)
    return (tie.order, tie.rule) if tie else None


def charge(at: int = 15, amount_minor: int = 1, **clues: object) -> Clues:
    return Clues("ch_1", at, amount_minor, "EUR", **clues)  # type: ignore[arg-type]


def test_the_reference_goes_before_everything_else() -> None:
    clues = charge(references=("unheard-of", "ord-2"), customer="cus-1", amount_minor=500)

    assert tied(clues, ONE, TWO) == ("ord-2", "reference")


def test_the_customer_goes_before_the_amount() -> None:
    assert tied(charge(customer="cus-2", amount_minor=500), ONE, TWO) == ("ord-2", "customer")


def test_an_amount_that_only_one_order_had_ties() -> None:
    assert tied(charge(amount_minor=700), ONE, TWO) == ("ord-2", "amount")


def test_a_clue_that_fits_two_orders_ties_nothing() -> None:
    beside = Planted("ord-3", ONE.customers, TWO.amounts, opened_at=12, closed_at=18)

    assert tied(charge(customer="cus-1", amount_minor=9), ONE, beside) is None


def test_two_equal_clues_of_one_order_are_one_clue() -> None:
    again = Planted("ord-1", ONE.customers, ONE.amounts)

    assert tied(charge(customer="cus-1"), ONE, again) == ("ord-1", "customer")


@pytest.mark.parametrize(
    "at, order", [(5, None), (10, "ord-1"), (20, "ord-1"), (25, None), (35, "ord-2"), (45, None)]
)
def test_what_only_one_order_could_have_caused_is_its_own(at: int, order: str | None) -> None:
    assert tied(charge(at), ONE, TWO) == ((order, "exclusion") if order else None)


def test_orders_whose_spans_overlap_exclude_nobody() -> None:
    beside = Planted("ord-3", opened_at=18, closed_at=25)
    after = Planted("ord-4", opened_at=50, closed_at=60)

    assert tied(charge(15), ONE, beside, after) is None
    assert tied(charge(22), ONE, beside, after) is None
    assert tied(charge(55), ONE, beside, after) == ("ord-4", "exclusion")


def test_an_order_that_stays_open_is_a_suspect_for_ever() -> None:
    still_open = Planted("ord-1", opened_at=10)

    assert tied(charge(35), still_open, TWO) is None
    assert tied(charge(15), still_open, TWO) is None
    assert tied(charge(35), still_open) == ("ord-1", "exclusion")


def test_an_order_that_was_never_sent_caused_nothing() -> None:
    assert tied(charge(15), Planted("ord-1")) is None


def test_what_stays_untied_is_listed_and_every_rule_is_counted() -> None:
    found = attribute(
        [
            Clues("ch_1", 1, 500, "EUR"),
            Clues("ch_2", 2, 1, "EUR"),
            Clues("ch_3", 3, 700, "EUR"),
            Clues("ch_4", 4, 9, "EUR", references=("ord-1",)),
        ],
        [ONE, TWO],
    )

    assert found.untied == ("ch_2",)
    assert found.counts() == {"amount": 2, "reference": 1}
    assert Attribution({}, ()).counts() == {}


def test_the_reference_may_stand_anywhere_in_the_call() -> None:
    for text in ("ord-2", "order ord-2, shop 7", "Payment(ord-2)"):
        assert tied(charge(mentions=("unheard of", text)), ONE, TWO) == ("ord-2", "reference")


def test_a_text_that_names_two_orders_ties_nothing_by_itself() -> None:
    both = charge(mentions=("ord-1 and ord-2",), customer="cus-2")

    assert tied(both, ONE, TWO) == ("ord-2", "customer")


def twin(order: str, opened_at: int, **facts: Any) -> Planted:
    return Planted(order, ONE.customers, ONE.amounts, opened_at=opened_at, closed_at=90, **facts)


def test_the_charges_of_look_alikes_are_dealt_out_for_the_best() -> None:
    orders = [twin("a", 1), twin("b", 2, told_ok=True), twin("c", 3, named=frozenset({"ch_1"}))]
    charges = [Clues(f"ch_{n}", 50, 500, "EUR", customer="cus-1") for n in (1, 2, 3)]

    found = attribute(charges, orders)

    assert {name: tie.order for name, tie in found.ties.items()} == {
        "ch_1": "c",
        "ch_2": "b",
        "ch_3": "a",
    }
    assert found.counts() == {"group": 3}


def test_a_charge_too_many_for_a_group_is_its_first_ones() -> None:
    charges = [Clues(f"ch_{n}", 50, 500, "EUR") for n in (1, 2, 3)]

    found = attribute(charges, [twin("a", 1), twin("b", 2), TWO])

    assert sorted(tie.order for tie in found.ties.values()) == ["a", "a", "b"]


def test_orders_of_one_price_and_different_customers_are_no_group() -> None:
    other = Planted("ord-3", frozenset({"cus-3"}), ONE.amounts, opened_at=12, closed_at=18)

    assert tied(charge(amount_minor=500), ONE, other) is None


def test_orders_of_which_nothing_is_known_are_no_group() -> None:
    one, two = Planted("a", amounts=ONE.amounts), Planted("b", amounts=ONE.amounts)

    assert tied(charge(amount_minor=500), one, two) is None
