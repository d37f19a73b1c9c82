"""What healing waits for: every definite answer that there can be, and no other."""

from onecharge.healing import _unanswered
from onecharge.history.outcomes import Outcome
from onecharge.press import Operation, Order


def order(outcome: Outcome, *operations: Operation) -> Order:
    made = Order(1, "ord-1", "key-1", 1_001, "EUR", "cus-1", "shop", "token", outcome)
    made.operations += operations
    return made


def test_a_refund_that_was_told_to_come_again_later_is_waited_for() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")
    done = Operation("refund", "key-1-other", 1_001, "ok")

    assert _unanswered(order("ok", refund, done)) == [refund]


def test_whoever_was_declined_waits_for_no_money_back() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")

    assert _unanswered(order("declined", refund)) == []
