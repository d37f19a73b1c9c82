import pytest

from onecharge.testing import Charged, WronglyCharged
from simulator.core.ledger import Posting


def capture(number: int, reference: str = "ord-1", amount_minor: int = 500) -> Posting:
    return Posting(
        number=number,
        kind="capture",
        charge=f"ch_{number}",
        account="shop",
        reference=reference,
        customer=None,
        amount_minor=amount_minor,
        currency="EUR",
    )


def charged(*captures: Posting, ledger: tuple[Posting, ...] | None = None) -> Charged:
    return Charged("reference ord-1", captures, captures if ledger is None else ledger)


def test_claims_that_are_true_return_what_they_counted() -> None:
    one = capture(1)
    assert charged(one).once() == (one,)
    assert charged(one).once(amount_minor=500) == (one,)
    assert charged(one).at_most_once() == (one,)
    assert charged().never() == charged().at_most_once() == ()
    assert charged(one, capture(2)).times(2) == (one, capture(2))


@pytest.mark.parametrize(
    "claim, expected",
    [
        (lambda twice: twice.once(), "expected 1 real charge of reference ord-1, found 2"),
        (lambda twice: twice.never(), "expected 0 real charges of reference ord-1, found 2"),
        (lambda twice: twice.at_most_once(), "expected at most 1 real charge"),
        (lambda twice: twice.times(3), "expected 3 real charges"),
        (lambda twice: twice.times(2, amount_minor=7), "expected 2 real charges of 7"),
    ],
)
def test_claims_that_are_false_show_every_capture(claim: object, expected: str) -> None:
    assert callable(claim)
    with pytest.raises(WronglyCharged) as wrong:
        claim(charged(capture(1), capture(2)))
    assert expected in str(wrong.value)
    assert "ch_1 5.00 EUR" in str(wrong.value)
    assert "ch_2 5.00 EUR" in str(wrong.value)


def test_a_charge_of_another_order_is_shown_when_there_is_none_of_this() -> None:
    with pytest.raises(WronglyCharged, match=r"the ledger has others:\n.*reference ord-2"):
        charged(ledger=(capture(1, reference="ord-2"),)).once()


def test_a_message_shows_no_card_number_and_no_live_key() -> None:
    secrets = "4539578763621486", "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    with pytest.raises(WronglyCharged) as wrong:
        Charged(f"reference {secrets[0]}", [], [capture(1, reference=" ".join(secrets))]).once()
    assert "of reference [card number removed], found 0" in str(wrong.value)
    assert "reference [card number removed] [live key removed]" in str(wrong.value)
