"""A known key with another body."""

from typing import TYPE_CHECKING, Any

import pytest

from onecharge.invariants.mismatches_move_no_money import judge

if TYPE_CHECKING:
    from onecharge.history.outcomes import Outcome
    from tests.judge.conftest import Tale

OTHER: dict[str, dict[str, Any]] = {
    "other_amount": {"amount_minor": 900},
    "other_currency": {"currency": "USD"},
    "other_customer": {"customer": "cus-other"},
}


@pytest.mark.parametrize("variant", OTHER)
@pytest.mark.parametrize("outcome", ["mismatch", "invalid", "in_flight", "retry_later", "unknown"])
def test_a_mismatch_may_be_refused_in_any_way(
    tale: "Tale", variant: str, outcome: "Outcome"
) -> None:
    tale.pays("ord-1")
    tale.refused("ord-1", outcome, variant=variant, **OTHER[variant])

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize("variant", OTHER)
def test_a_mismatch_that_is_told_ok_is_seen(tale: "Tale", variant: str) -> None:
    charge = tale.pays("ord-1")
    tale.told(tale.asks("ord-1", variant=variant, **OTHER[variant]), provider_charge=charge)

    [violation] = judge(tale.case()).violations

    assert "under the key of attempt 1, and was told ok" in violation.says
    assert violation.boundary == "client → API"
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


@pytest.mark.parametrize("variant", OTHER)
def test_a_mismatch_that_is_executed_is_seen_whatever_it_is_told(
    tale: "Tale", variant: str
) -> None:
    tale.pays("ord-1")
    asked = tale.asks("ord-1", variant=variant, **OTHER[variant])
    tale.captures(tale.calls("ord-1", "up-2"), **OTHER[variant])
    tale.told(asked, "unknown")

    [violation] = judge(tale.case()).violations

    assert "(ch_2) for another body under the key of attempt 1" in violation.says


def test_of_two_at_once_either_may_be_executed(tale: "Tale") -> None:
    honest = tale.asks("ord-1")
    other = tale.asks("ord-1", variant="other_amount", amount_minor=900)
    charge = tale.captures(tale.calls("ord-1", "up-1"), amount_minor=900)
    tale.told(other, provider_charge=charge)
    tale.told(honest, "mismatch")

    assert judge(tale.case()).verdict == "holds"


def test_a_key_whose_first_body_was_declined_may_be_free_again(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.declines(tale.calls("ord-1", "up-1"))
    tale.told(asked, "declined")
    other = tale.asks("ord-1", variant="other_amount", amount_minor=900)
    tale.told(other, provider_charge=tale.captures(tale.calls("ord-1"), amount_minor=900))

    assert judge(tale.case()).verdict == "holds"


def test_without_a_mismatch_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks("ord-1", variant="json_jitter"))

    assert not judge(tale.case()).exercised


def test_a_refund_under_the_key_of_the_charge_may_be_refused_or_made(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    misuse: dict[str, Any] = {"key": "key-ord-1", "variant": "other_operation"}
    tale.told(tale.asks_back("ord-1", **misuse), "mismatch")
    assert judge(tale.case()).verdict == "holds"

    tale.refunds(charge, 500)
    tale.told(tale.asks_back("ord-1", **misuse), "ok")
    assert judge(tale.case()).verdict == "holds"


def test_the_answer_of_the_charge_is_none_to_a_refund(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks_back("ord-1", 500, key="key-ord-1", variant="other_operation"), "ok")

    [violation] = judge(tale.case()).violations

    assert violation.says.endswith("under the key of the charge was told ok and never made")
