"""The truth about money adds up, and says so when it does not."""

from dataclasses import replace
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from simulator.core.ledger import Ledger

Kind = Literal["capture", "refund"]


def post(
    ledger: Ledger,
    kind: Kind,
    amount_minor: int,
    *,
    charge: str = "ch_1",
    reference: str | None = "ord-1",
) -> None:
    ledger.post(
        kind,
        charge=charge,
        account="shop",
        reference=reference,
        customer="cus-1",
        amount_minor=amount_minor,
        currency="EUR",
    )


def test_a_capture_takes_from_the_customer_what_it_gives_to_the_merchant() -> None:
    ledger = Ledger()

    post(ledger, "capture", 500)

    assert ledger.balance_minor("customer:cus-1", "EUR") == -500
    assert ledger.balance_minor("merchant:shop", "EUR") == 500
    assert [posting.lines for posting in ledger] == [
        (("customer:cus-1", -500), ("merchant:shop", 500))
    ]


def test_a_refund_goes_the_other_way() -> None:
    ledger = Ledger()
    post(ledger, "capture", 500)

    post(ledger, "refund", 200)

    assert ledger.balance_minor("merchant:shop", "EUR") == 300
    assert len(ledger) == 2


def test_a_real_charge_is_a_capture_found_by_its_order() -> None:
    ledger = Ledger()
    post(ledger, "capture", 500)
    post(ledger, "refund", 500)
    post(ledger, "capture", 700, charge="ch_2", reference="ord-2")
    post(ledger, "capture", 900, charge="ch_3", reference=None)

    assert [posting.charge for posting in ledger.real_charges()] == ["ch_1", "ch_2", "ch_3"]
    assert [posting.charge for posting in ledger.real_charges("ord-2")] == ["ch_2"]
    assert ledger.real_charges("ord-9") == []


@given(st.lists(st.tuples(st.integers(1, 10**12), st.booleans()), max_size=20))
def test_whatever_is_posted_it_balances(amounts: list[tuple[int, bool]]) -> None:
    ledger = Ledger()
    for number, (amount_minor, back) in enumerate(amounts):
        post(ledger, "capture", amount_minor, charge=f"ch_{number}")
        if back:
            post(ledger, "refund", amount_minor, charge=f"ch_{number}")

    assert ledger.discrepancies() == []


def test_a_refund_of_more_than_was_captured_is_noticed() -> None:
    ledger = Ledger()
    post(ledger, "capture", 100)
    post(ledger, "refund", 101)

    assert ledger.discrepancies() == ["ch_1 was refunded more than it captured"]


def test_a_posting_out_of_place_is_noticed() -> None:
    ledger = Ledger()
    post(ledger, "capture", 100)
    ledger._postings[0] = replace(ledger._postings[0], number=2)

    assert ledger.discrepancies() == ["posting 2 stands in place 1"]
