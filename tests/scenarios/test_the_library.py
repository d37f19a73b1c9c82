"""The library of scenarios is data for people: every file is whole, explained and its own."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from onecharge.invariants import invariants
from onecharge.scenario_file import library, read_scenario_file
from onecharge.steps import ONLY_PAY
from simulator.catalogue import faults

ROOT = Path(__file__).parents[2]
LIBRARY = library()

every_scenario = pytest.mark.parametrize("name", LIBRARY)


def test_every_file_of_the_folder_is_a_scenario() -> None:
    assert list(LIBRARY) == sorted(path.stem for path in (ROOT / "scenarios").iterdir())
    assert len(LIBRARY) >= 40


def test_no_two_scenarios_tell_the_same() -> None:
    titles = Counter(read_scenario_file(path).file.title for path in LIBRARY.values())

    assert [title for title, count in titles.items() if count > 1] == []


def test_every_class_of_bugs_has_a_scenario() -> None:
    classes = Counter(
        name for path in LIBRARY.values() for name in read_scenario_file(path).file.classes
    )

    assert sorted(classes) == [f"K{number:02}" for number in range(1, 36)]


def test_every_invariant_is_put_to_the_test_on_purpose_or_by_every_run() -> None:
    exercised = {
        name for path in LIBRARY.values() for name in read_scenario_file(path).file.exercises
    }
    by_itself = {"no_zombie_charge", "books_agree", "quiet_after_convergence"}
    always = {invariant.name for invariant in invariants() if invariant.always}

    assert {invariant.name for invariant in invariants()} == exercised | by_itself | always


@every_scenario
def test_a_name_is_made_of_words(name: str) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+", name)


@every_scenario
def test_a_scenario_can_be_read_and_plans_something(name: str) -> None:
    scenario = read_scenario_file(LIBRARY[name])

    assert scenario.named
    assert scenario.file.faults or scenario.file.kills or scenario.file.steps != ONLY_PAY


@every_scenario
def test_what_goes_wrong_is_named_once_in_a_report(name: str) -> None:
    scenario = read_scenario_file(LIBRARY[name])
    names = Counter(str(rule["name"]) for rule in scenario.plan({}))

    assert [each for each, count in names.items() if count > 1] == []


@every_scenario
def test_a_scenario_says_why_and_after_whom(name: str) -> None:
    why = " ".join(read_scenario_file(LIBRARY[name]).file.why.split())

    assert why.endswith(".")
    assert len(why.split()) >= 12, "one sentence that a newcomer understands"
    assert read_scenario_file(LIBRARY[name]).file.classes, "which bugs is it for?"


@every_scenario
def test_a_scenario_is_as_fair_as_its_faults(name: str) -> None:
    tables = tomllib.loads(LIBRARY[name].read_text()).get("faults", [])
    fair = all(faults()[table["fault"]].fair for table in tables)

    assert read_scenario_file(LIBRARY[name]).fair == fair


def test_one_scenario_at_least_is_unfair_and_most_are_not() -> None:
    fairness = Counter(read_scenario_file(path).fair for path in LIBRARY.values())

    assert 1 <= fairness[False] < fairness[True]
