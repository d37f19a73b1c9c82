"""Advice: what came out right by luck."""

from typing import TYPE_CHECKING

import pytest

from onecharge.history.lint import advice

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_one_key_for_every_attempt_needs_no_advice(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.drops(tale.calls("ord-1", "up-1"))
    call = tale.calls("ord-1", "up-1")
    tale.replies(call, charge=tale.captures(call))
    tale.told(asked)

    assert advice(tale.case()) == ()


def test_a_call_that_moves_money_without_a_key_is_named(tale: "Tale") -> None:
    for order in ("ord-1", "ord-2"):
        tale.asks(order)
        tale.captures(tale.calls(order))

    assert advice(tale.case()) == (
        "calls that move money carry no idempotency key (2 orders; ord-1: call-1 charge.create)",
    )


def test_a_service_that_declares_no_provider_keys_is_not_lectured(tell: type["Tale"]) -> None:
    tale = tell("ord-1", capabilities={"upstream_keys": False})
    tale.asks("ord-1")
    tale.captures(tale.calls("ord-1"))

    assert advice(tale.case()) == ()


def test_a_new_key_after_an_unknown_outcome_is_luck(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.drops(tale.calls("ord-1", "up-1"))
    tale.captures(tale.calls("ord-1", "up-2"))

    [luck] = advice(tale.case())

    assert luck.startswith("a new provider key was made while the outcome of the last was unknown")
    assert luck.endswith("(1 order; ord-1: up-1 in call-1, up-2 in call-2)")


@pytest.mark.parametrize("status, advised", [(402, 0), (422, 0), (409, 1), (503, 1)])
def test_a_new_key_is_right_only_after_a_definite_refusal(
    tale: "Tale", status: int, advised: int
) -> None:
    tale.asks("ord-1")
    tale.replies(tale.calls("ord-1", "up-1"), status)
    tale.captures(tale.calls("ord-1", "up-2"))

    assert len(advice(tale.case())) == advised


def test_a_new_key_after_a_decline_whose_answer_was_lost_is_right_as_well(tale: "Tale") -> None:
    tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.declines(call)
    tale.replies(call, 200)
    tale.captures(tale.calls("ord-1", "up-2"))

    assert advice(tale.case()) == ()


def test_a_new_key_after_looking_the_charge_up_is_right(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.drops(tale.calls("ord-1", "up-1"))
    tale.replies(tale.calls("ord-1", operation="charge.list"), 200)
    tale.captures(tale.calls("ord-1", "up-2"))

    assert advice(tale.case()) == ()


def test_two_executions_at_once_that_the_providers_key_saved_are_advised_on(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.asks("ord-1")
    held = tale.calls("ord-1", "up-1")
    tale.calls("ord-1", "up-1")
    tale.replies(held, charge=tale.captures(held))

    [saved] = advice(tale.case())

    assert "only the provider's key saved it" in saved


@pytest.mark.parametrize("how", ["dropped", "caller_gone", "one client", "one after the other"])
def test_asking_again_after_giving_up_is_right(tale: "Tale", how: str) -> None:
    tale.asks("ord-1")
    if how != "one client":
        tale.asks("ord-1")
    held = tale.calls("ord-1", "up-1")
    if how == "one after the other":
        tale.replies(held, 503)
    tale.calls("ord-1", "up-1")
    if how == "dropped":
        tale.drops(held)
    if how == "caller_gone":
        tale.releases(held, "caller_gone")

    assert advice(tale.case()) == ()


def test_orders_charged_twice_get_no_advice_on_top(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.pays("ord-1", "up-2")

    assert advice(tale.case()) == ()
