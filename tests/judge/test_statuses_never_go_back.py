"""What the service says of an order, one word after the other."""

from typing import TYPE_CHECKING

import pytest

from onecharge.invariants.statuses_never_go_back import NEEDS, judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


@pytest.mark.parametrize(
    "words",
    [
        ("pending", "succeeded"),
        ("failed", "succeeded"),
        ("absent", "pending", "failed"),
        ("succeeded", "unreadable", "succeeded", "refunded"),
    ],
)
def test_a_step_forward_is_right(tale: "Tale", words: tuple[str, ...]) -> None:
    tale.asks("ord-1")
    for word in words:
        tale.believes("ord-1", word)

    assert judge(tale.case()).verdict == "holds"


@pytest.mark.parametrize(
    "before, after",
    [
        ("succeeded", "failed"),
        ("succeeded", "pending"),
        ("succeeded", "absent"),
        ("refunded", "succeeded"),
    ],
)
def test_a_step_back_is_seen_even_if_it_comes_right_again(
    tale: "Tale", before: str, after: str
) -> None:
    tale.asks("ord-1")
    one = tale.believes("ord-1", before)
    two = tale.believes("ord-1", after)
    tale.believes("ord-1", before)

    [violation] = judge(tale.case()).violations

    assert violation.says == f"ord-1 was {before} (#{one}) and then {after} (#{two})"
    assert violation.boundary == "provider → webhook receiver"
    assert {piece.side for piece in violation.evidence} == {"client", "service"}


def test_a_late_event_after_the_answer_is_named(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.answered(tale.delivers(tale.event(charge, "charge.declined")))
    tale.believes("ord-1", "failed")

    [violation] = judge(tale.case()).violations

    assert violation.cause.endswith("; evt_1 came in between")


def test_a_status_page_counts_and_a_stranger_at_it_does_not(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.told(tale.asks_how("ord-1", variant="other_tenant"), "declined")
    tale.told(tale.asks_how("ord-1"), "ok")
    tale.told(tale.asks_how("ord-1"), "invalid")
    assert judge(tale.case()).verdict == "holds"

    tale.told(tale.asks_how("ord-1"), "pending")
    assert judge(tale.case()).verdict == "violated"


def test_what_was_asked_before_may_say_less(tale: "Tale") -> None:
    early = tale.asks_how("ord-1")
    tale.pays("ord-1")
    tale.told(early, "pending")

    assert judge(tale.case()).verdict == "holds"


def test_given_back_in_part_it_may_be_called_either(tale: "Tale") -> None:
    tale.refunds(tale.pays("ord-1"), 100)
    tale.believes("ord-1", "refunded")
    tale.believes("ord-1", "succeeded")

    assert judge(tale.case()).verdict == "holds"


def test_a_repeated_request_and_a_lost_record_are_other_claims(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.refused("ord-1", "declined")
    tale.believes("ord-1", "absent")

    assert judge(tale.case()).verdict == "holds"


def test_one_word_alone_is_nothing_to_judge(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.believes("ord-1", "succeeded")

    assert not judge(tale.case()).exercised
    assert {"read_back"} == NEEDS
