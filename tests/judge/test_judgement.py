"""The words of a judge."""

import pytest

from onecharge.history.judgement import Judgement, money


@pytest.mark.parametrize(
    "amount_minor, currency, text",
    [
        (500, "EUR", "5.00 EUR"),
        (5, "EUR", "0.05 EUR"),
        (-1234, "eur", "-12.34 eur"),
        (500, "JPY", "500 JPY"),
        (1500, "KWD", "1.500 KWD"),
        (0, "", "0.00"),
    ],
)
def test_money_reads_as_people_write_it(amount_minor: int, currency: str, text: str) -> None:
    assert money(amount_minor, currency) == text


def test_nothing_judged_is_unknown_and_never_holds() -> None:
    assert Judgement.of(judged=0).verdict == "unknown"
    assert Judgement.of(judged=1).verdict == "holds"
    assert Judgement.of(judged=1, reasons=["late"]).verdict == "unknown"


def test_nothing_judged_is_not_exercised_but_a_doubt_is() -> None:
    assert not Judgement.of(judged=0).exercised
    assert Judgement.of(judged=0, reasons=["late"]).exercised
    assert Judgement.of(judged=1).exercised
