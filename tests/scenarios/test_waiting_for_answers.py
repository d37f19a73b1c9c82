"""What is waited for: every definite answer that there can be, and no other."""

from pathlib import Path
from typing import Any

from onecharge.history.outcomes import Outcome
from onecharge.insistence import unanswered
from onecharge.press import Operation, Order
from tests.scenarios.shops import Shop, judged, played

ONCE = {"attempts": 1}


def order(outcome: Outcome, *operations: Operation) -> Order:
    made = Order(1, "ord-1", "key-1", 1_001, "EUR", "cus-1", "shop", "token", outcome)
    made.operations += operations
    return made


def test_a_refund_that_was_told_to_come_again_later_is_waited_for() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")
    done = Operation("refund", "key-1-other", 1_001, "ok")

    assert unanswered(order("ok", refund, done)) == [refund]


def test_whoever_was_declined_waits_for_no_money_back() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")

    assert unanswered(order("declined", refund)) == []


FAITHFUL: dict[str, Any] = {"exercises": ["replays_are_faithful"], "customer": ONCE}


async def test_whoever_settles_has_been_told_before_the_next_step(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "settle"}, {"do": "press"}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, **FAITHFUL) as (
        play,
        healing,
    ):
        verdict = judged(play)

    told = [r for r in play.recorder.records if r.value.get("outcome") == "ok"]
    assert verdict.verdict == "holds", verdict.reasons
    assert len([r for r in told if r.index < healing]) >= 4


async def test_without_a_definite_answer_a_replay_shows_nothing(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "press"}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, **FAITHFUL) as (
        play,
        _,
    ):
        verdict = judged(play)

    assert verdict.verdict == "unknown"
    assert any("replays_are_faithful" in reason for reason in verdict.reasons)


async def test_who_is_told_late_has_the_money_taken_all_the_same(tmp_path: Path) -> None:
    lost = [{"fault": "lose_reply", "operation": "charge.create", "times": 2}]

    async with played(Shop(captures=True), tmp_path, customer=ONCE, faults=lost) as (play, healing):
        verdict = judged(play)

    captured = [r for r in play.recorder.records if r.what == "charge.captured"]
    assert verdict.verdict == "holds", verdict.reasons
    assert [r.index > healing for r in captured] == [True, True]


async def test_a_day_passes_once_everybody_has_been_told(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "advance", "hours": 25}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, customer=ONCE) as (
        play,
        _,
    ):
        verdict = judged(play)

    records = play.recorder.records
    later = next(r.index for r in records if r.value.get("rule") == "advance")
    assert verdict.verdict == "holds", verdict.reasons
    assert {r.order for r in records if r.value.get("outcome") == "ok" and r.index < later} == {
        order.reference for order in play.cast.own
    }
