"""When a rule fires: its operation, its order, its count, its window, its luck."""

from random import Random

import pytest

from simulator.core.faults import Fault
from simulator.core.rules import Plan, Rule
from simulator.faults.hold import Hold
from simulator.faults.lose_reply import LoseReply
from simulator.faults.redeliver import Redeliver


def plan(*rules: Rule) -> Plan:
    plan = Plan(Random(0))
    plan.arm(rules)
    return plan


def names(plan: Plan, operation: str, order: str | None = None) -> list[str]:
    return [armed.rule.name for armed in plan.matching("after_commit", operation, order)]


def test_rules_match_in_the_order_of_the_plan() -> None:
    armed = plan(
        Rule(LoseReply(), "third order", order="ord-3"),
        Rule(LoseReply(), "create", operation="charge.create"),
        Rule(LoseReply(), "any"),
        Rule(LoseReply(), "refund", operation="charge.refund"),
        Rule(LoseReply(), "both", operation="charge.create", order="ord-3"),
    )

    assert names(armed, "charge.create", "ord-3") == ["third order", "create", "any", "both"]
    assert names(armed, "charge.create", "ord-1") == ["create", "any"]
    assert names(armed, "charge.read") == ["any"]


def test_a_rule_matches_only_where_its_fault_has_something_to_say() -> None:
    armed = plan(Rule(LoseReply(), "lose"))

    assert not list(armed.matching("before_commit", "charge.create", None))


def test_a_fault_that_overrides_nothing_is_never_asked() -> None:
    armed = plan(Rule(Fault(), "nothing"))

    assert not armed.in_force


def test_a_delivery_is_matched_by_its_kind_or_by_the_type_of_its_event() -> None:
    armed = plan(
        Rule(Redeliver(), "captured", operation="delivery.charge.captured"),
        Rule(Redeliver(), "all", operation="delivery"),
        Rule(Redeliver(), "any"),
        Rule(Redeliver(), "declined", operation="delivery.charge.declined"),
    )

    found = armed.matching("on_delivery", "delivery.charge.captured", None)

    assert [each.rule.name for each in found] == ["captured", "all", "any"]


def fires(rule: Rule, *moments: float) -> list[bool]:
    armed_plan = plan(rule)
    [armed] = armed_plan.matching("after_commit", "charge.create", None)
    return [armed_plan.fires(armed, now) for now in moments]


def test_only_the_nth_opportunity_is_taken() -> None:
    assert fires(Rule(LoseReply(), "lose", nth=2), 0, 0, 0) == [False, True, False]


def test_times_bounds_how_often() -> None:
    assert fires(Rule(LoseReply(), "lose", times=2), 0, 0, 0) == [True, True, False]


def test_a_window_has_a_beginning_and_an_end() -> None:
    rule = Rule(LoseReply(), "lose", after_s=10, until_s=20)

    assert fires(rule, 9.9, 10, 19.9, 20) == [False, True, True, False]


def test_a_window_counts_from_the_arming() -> None:
    armed_plan = Plan(Random(0))
    armed_plan.arm([Rule(LoseReply(), "lose", after_s=10, until_s=20)], now=100)
    [armed] = armed_plan.matching("after_commit", "charge.create", None)

    assert [armed_plan.fires(armed, now) for now in (15, 110)] == [False, True]


def test_an_opportunity_outside_the_window_does_not_count() -> None:
    assert fires(Rule(LoseReply(), "lose", nth=1, after_s=10), 0, 10) == [False, True]


def test_probability_is_drawn_from_the_seed() -> None:
    rule = Rule(LoseReply(), "lose", probability=0.5)

    assert fires(rule, *[0.0] * 50) == fires(rule, *[0.0] * 50)
    assert 10 < sum(fires(rule, *[0.0] * 50)) < 40
    assert not any(fires(Rule(LoseReply(), "never", probability=0.0), *[0.0] * 50))


def test_a_seed_lets_chance_begin_anew() -> None:
    rule = Rule(LoseReply(), "lose", probability=0.5)
    armed_plan = Plan(Random(0))
    drawn = []
    for _ in range(2):
        armed_plan.arm([rule], seed=7)
        [armed] = armed_plan.matching("after_commit", "charge.create", None)
        drawn.append([armed_plan.fires(armed, 0) for _ in range(20)])

    assert drawn[0] == drawn[1]


def test_what_fired_is_counted_by_name_and_stays_known_when_stopped() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose"), Rule(Hold(), "hold"))
    armed, _ = armed_plan.matching("after_commit", "charge.create", None)
    armed_plan.fires(armed, 0)

    armed_plan.stop()

    assert armed_plan.fired == {"lose": 1, "hold": 0}
    assert [rule.name for rule in armed_plan.rules] == ["lose", "hold"]
    assert not armed_plan.in_force
    assert names(armed_plan, "charge.create") == []


def test_two_rules_of_one_name_are_refused_and_the_old_plan_stays() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose"))

    with pytest.raises(ValueError, match="same name"):
        armed_plan.arm([Rule(LoseReply(), "x"), Rule(Hold(), "x")])

    assert names(armed_plan, "charge.create") == ["lose"]


def test_a_rule_that_cannot_match_costs_nothing() -> None:
    many = [Rule(LoseReply(), f"r{n}", order=f"ord-{n}") for n in range(1_000)]
    armed_plan = plan(*many)

    found = armed_plan._index["after_commit", "*", "ord-7"]

    assert names(armed_plan, "charge.create", "ord-7") == ["r7"]
    assert len(found) == 1


def test_a_rule_is_added_behind_the_present_ones_and_takes_away_none() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose"), Rule(LoseReply(), "again"))
    [first, _] = armed_plan.matching("after_commit", "charge.create", None)
    armed_plan.fires(first, 0)

    added = armed_plan.add(Rule(LoseReply(), "lose", times=1))

    assert added == "lose-2"
    assert names(armed_plan, "charge.create") == ["lose", "again", "lose-2"]
    assert armed_plan.fired == {"lose": 1, "again": 0, "lose-2": 0}


def test_a_rule_that_is_added_to_a_stopped_plan_is_a_plan_of_its_own() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose"))
    armed_plan.stop()

    armed_plan.add(Rule(LoseReply(), "more", after_s=10), now=100)

    assert names(armed_plan, "charge.create") == ["more"]
    [armed] = armed_plan.matching("after_commit", "charge.create", None)
    assert [armed_plan.fires(armed, now) for now in (105, 110)] == [False, True]


def test_a_rule_for_several_orders_reaches_those_and_what_names_none_is_out_of_reach() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose", orders=("ord-1", "ord-2")))

    reached = [names(armed_plan, "charge.create", order) for order in ("ord-1", "ord-2", "ord-3")]

    assert reached == [["lose"], ["lose"], []]
    assert names(armed_plan, "charge.create") == []


def test_a_rule_for_several_orders_counts_them_together() -> None:
    armed_plan = plan(Rule(LoseReply(), "lose", orders=("ord-1", "ord-2"), times=1))

    [first] = armed_plan.matching("after_commit", "charge.create", "ord-1")
    [second] = armed_plan.matching("after_commit", "charge.create", "ord-2")

    assert [armed_plan.fires(first, 0), armed_plan.fires(second, 0)] == [True, False]
