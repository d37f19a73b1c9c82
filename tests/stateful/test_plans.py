"""Plans are data: drawn, printed, written to a file, made smaller. Nothing is played here."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from onecharge.drawing import fair_faults, one_of_each, plans
from onecharge.plans import Death, Plan, Strike, as_scenario, as_toml
from onecharge.scenario_file import Scenario, read_scenario_file
from onecharge.shrinking import shrunk, simplified
from simulator.faults.hold import Hold
from simulator.faults.lose_reply import LoseReply
from simulator.faults.redeliver import Redeliver

LARGE = Plan(
    orders=3,
    presses=3,
    attempts=1,
    timeout_ms=100,
    pause_ms=0,
    strikes=(
        Strike(LoseReply(), "*", order=3, nth=2, times=4),
        Strike(Redeliver(), "delivery.charge.captured", order=2, times=2),
    ),
    death=Death("after_commit", order=3, nth=2, restart_after_ms=200),
)


def written(plan: Plan, folder: Path) -> Scenario:
    """Write a plan to a file as a user would keep it, and read that."""
    file = folder / "plan.toml"
    file.write_text(as_toml(plan))
    return read_scenario_file(file)


@pytest.mark.parametrize("plan", [*one_of_each(), LARGE], ids=lambda plan: "+".join(plan.kinds))
def test_a_plan_reads_back_from_its_file_as_it_was(plan: Plan, tmp_path: Path) -> None:
    read = written(plan, tmp_path)

    assert read.file == as_scenario(plan).file


@given(plan=plans())
def test_every_plan_drawn_is_a_fair_scenario_file(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan
) -> None:
    read = written(plan, tmp_path_factory.getbasetemp())

    assert read.fair
    assert read.file == as_scenario(plan).file
    assert read.rules({}) == as_scenario(plan).rules({})


@given(plan=plans(most_orders=2, most_strikes=1, deaths=False))
def test_no_plan_drawn_is_larger_than_asked_for(plan: Plan) -> None:
    assert plan.orders <= 2
    assert len(plan.strikes) <= 1
    assert plan.death is None
    assert all(strike.order is None or strike.order <= plan.orders for strike in plan.strikes)


def test_one_of_each_leaves_no_fair_fault_out() -> None:
    kinds = [kind for plan in one_of_each() for kind in plan.kinds]

    assert sorted(kinds) == sorted([*fair_faults(), "kill"])


def test_a_plan_shows_itself_as_the_call_that_makes_it() -> None:
    plan = Plan(
        presses=2, strikes=(Strike(LoseReply(), "charge.create"),), death=Death("on_receive")
    )

    assert repr(plan) == (
        "Plan(presses=2, strikes=(Strike(fault=LoseReply(), operation='charge.create'),), "
        "death=Death(at='on_receive'))"
    )


@given(plan=plans())
def test_what_is_simpler_is_no_larger_and_can_still_be_played(plan: Plan) -> None:
    for simpler in simplified(plan):
        assert as_scenario(
            simpler
        ).fair  # it would not be a scenario if it named no order of its own
        assert len(simpler.kinds) <= len(plan.kinds)
        assert simpler.orders <= plan.orders


@pytest.mark.parametrize(
    "breaks,smallest",
    [
        (lambda plan: plan.presses >= 2, Plan(presses=2)),
        (lambda plan: plan.orders >= 2, Plan(orders=2)),
        (lambda plan: plan.attempts < 3, Plan(attempts=1)),
        (lambda plan: plan.timeout_ms < 400, Plan(timeout_ms=100, pause_ms=0)),
        (lambda plan: "kill" in plan.kinds, Plan(death=Death("after_commit"))),
        (
            lambda plan: "redeliver" in plan.kinds,
            Plan(strikes=(Strike(Redeliver(), "delivery.charge.captured"),)),
        ),
        (
            lambda plan: any(strike.times > 2 for strike in plan.strikes),
            Plan(strikes=(Strike(LoseReply(), "*", times=4),)),
        ),
    ],
)
def test_a_plan_shrinks_to_what_it_takes(breaks: Callable[[Plan], bool], smallest: Plan) -> None:
    assert shrunk(LARGE, breaks) == smallest


def test_a_plan_that_breaks_only_as_it_is_stays_as_it_is() -> None:
    assert shrunk(LARGE, lambda _: False) == LARGE


def test_no_plan_is_tried_twice() -> None:
    tried: list[Plan] = []

    def breaks(plan: Plan) -> bool:
        tried.append(plan)
        return plan.orders > 1

    shrunk(Plan(orders=3, presses=3, strikes=(Strike(Hold(), "charge.create", order=3),)), breaks)

    assert len(tried) == len(set(tried))
