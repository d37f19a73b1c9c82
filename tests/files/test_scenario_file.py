"""Scenario files are data for people; the library is a folder of them."""

from pathlib import Path

import pytest

from onecharge.scenario_file import Scenario, library, read_scenario_file
from onecharge.toml_file import FileError

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
    assert len(scenarios) >= 8
    assert all(scenario.named for scenario in scenarios.values())
    unfair = {name for name, each in scenarios.items() if not each.fair}
    assert unfair == {"one_event_id_for_two_orders", "provider_ignores_keys"}
