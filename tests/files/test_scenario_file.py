"""Scenario files are data for people; the library is a folder of them."""

from pathlib import Path

import pytest

from onecharge.scenario_file import Scenario, library, read_scenario_file
from onecharge.toml_file import FileError
from simulator.core.rules import Rule
from simulator.faults.hold import Hold

GOOD = """
title = "Something goes wrong"
why = "A report"
orders = 3

[[faults]]
fault = "lose_reply"
operation = "charge.create"
order = 2

[[faults]]
fault = "lose_reply"
times = 1

[[kills]]
at = "committed"

[[steps]]
do = "refund"
at_once = 2
"""


def read(text: str, tmp_path: Path) -> Scenario:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_scenario_file(path)


def test_a_scenario_is_called_like_its_file(tmp_path: Path) -> None:
    scenario = read(GOOD, tmp_path)
    assert scenario.name == "mine"
    assert not scenario.named
    assert scenario.fair


def test_rules_have_names_of_their_own_and_the_orders_references(tmp_path: Path) -> None:
    rules = read(GOOD, tmp_path).rules({1: "ord-a", 2: "ord-b", 3: "ord-c"})
    assert [(rule.name, rule.order) for rule in rules] == [
        ("lose_reply", "ord-b"),
        ("lose_reply-2", None),
    ]


def test_the_plan_lists_kills_beside_rules(tmp_path: Path) -> None:
    plan = read(GOOD, tmp_path).plan({2: "ord-b"})
    assert [entry["name"] for entry in plan] == ["lose_reply", "lose_reply-2", "kill"]
    assert plan[0]["order"] == "ord-b"


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("orders = 3", "order = 3", ":4: order: unknown field; did you mean 'orders'?"),
        ('"lose_reply"', '"loose_reply"', ":7: faults[1].fault: "),
        ("order = 2", "order = 4", "faults[1].order: expected a serial from 1 to 3, found 4"),
        ("times = 1", "tmies = 1", ":13: faults[2].tmies: "),
        ("times = 1", "times = 'x'", ":13: faults[2].times: "),
        ('"committed"', '"later"', ":16: kills[1].at: input should be"),
        ('at = "committed"', 'at = "committed"\norder = 9', ":17: kills[1].order: expected a"),
        ('do = "refund"', 'do = "refnd"', ":19: steps[1].do: expected one of 'pay', 'press'"),
        ('do = "refund"', "", ":18: steps[1].do: required, but missing"),
        ("at_once = 2", "at_onse = 2", ":20: steps[1].at_onse: unknown field; did you mean 'at_"),
        ("at_once = 2", "at_once = 0", ":20: steps[1].at_once: input should be greater than"),
        ("at_once = 2", "orders = [4]", ":20: steps[1].orders: expected a serial from 1 to 3"),
        ('do = "refund"', 'do = "wait"', ":20: steps[1].at_once: unknown field; known here: do"),
        (
            "orders = 3",
            'exercises = ["books_agre"]',
            ":4: exercises[1]: no invariant is called 'books_agre'; did you mean 'books_agree'?",
        ),
        ("orders = 3", 'classes = ["K36"]', ":4: classes[1]: "),
        ('title = "Something goes wrong"', "", ": title: required, but missing"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(FileError) as error:
        read(GOOD.replace(old, new, 1), tmp_path)
    assert str(tmp_path / "mine.toml") in str(error.value)
    assert says in str(error.value)


def test_the_library_has_what_it_promises() -> None:
    scenarios = {name: read_scenario_file(path) for name, path in library().items()}
    assert len(scenarios) >= 40
    assert all(scenario.named for scenario in scenarios.values())
    unfair = {name for name, each in scenarios.items() if not each.fair}
    assert unfair == {
        "bad_news_before_good_news",
        "events_never_come",
        "keys_are_forgotten",
        "lookups_lag",
        "lookups_lie",
        "one_event_id_for_two_orders",
        "provider_ignores_keys",
    }


STEPS = """
title = "Something is done"
why = "A report"
orders = 3

[[steps]]
do = "edge_keys"
single = ["empty", "255"]
pairs = ["case"]
"""


def test_as_many_orders_are_needed_as_keys_are_tried(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r":7: steps\[1\].do: so many keys take 4 orders"):
        read(STEPS, tmp_path)


def test_without_steps_customers_pay(tmp_path: Path) -> None:
    text = 'title = "Nothing goes wrong"\nwhy = "A report"\n'

    assert [step.do for step in read(text, tmp_path).file.steps] == ["pay"]


def test_what_is_done_to_the_service_is_planned_and_has_a_name(tmp_path: Path) -> None:
    steps = "".join(f'[[steps]]\ndo = "{do}"\n' for do in ("pay", "resend", "restart", "resend"))
    scenario = read(f'title = "a"\nwhy = "b"\n{steps}', tmp_path)

    assert [entry["name"] for entry in scenario.plan({})] == ["resend", "restart", "resend-2"]
    assert scenario.alone
    assert scenario.needs == {"webhooks", "restartable"}


def test_rules_for_several_orders_name_their_references(tmp_path: Path) -> None:
    text = GOOD.replace("order = 2", "orders = [1, 3]")
    rules = read(text, tmp_path).rules({1: "ord-a", 2: "ord-b", 3: "ord-c"})

    assert rules[0].orders == ("ord-a", "ord-c")


def test_what_outlasts_a_lease_is_held_beyond_the_one_that_the_service_has(tmp_path: Path) -> None:
    scenario = read(HELD.format(outlasts="true"), tmp_path)

    assert held_ms(scenario.rules({}, lease_s=60)) == [60_500]
    assert held_ms(scenario.rules({}, lease_s=0.5)) == [3_000]
    assert held_ms(scenario.rules({})) == [3_000]
    others = read(HELD.format(outlasts="false"), tmp_path)
    assert held_ms(others.rules({}, lease_s=60)) == [3_000]


HELD = """
title = "Held"
why = "A lease runs out."
outlasts_lease = {outlasts}

[[faults]]
fault = "hold"
until = "elapsed"
amount = 3000
"""


def held_ms(rules: list[Rule]) -> list[int]:
    return [rule.fault.amount for rule in rules if isinstance(rule.fault, Hold)]
