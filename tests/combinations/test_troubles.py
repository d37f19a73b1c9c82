"""The levels as a part of a run: what is found is a scenario that anybody can play again."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.explored import Part, Parts
from onecharge.exploring.exploration import Budget
from onecharge.exploring.troubles import AS_FOUND, ASIDE, Troubles, told_by_its_row
from onecharge.history.reading import read_history
from onecharge.report.pytest_file import TEST_FILE
from onecharge.scenario_file import read_scenario_file
from onecharge.stored_run import StoredRun
from onecharge.targets import target
from onecharge.verdict import judge_scenario
from onecharge.world.world import standing


class Audience:
    def step(self, says: str) -> None: ...

    def playing(self, name: str) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def explored(self, part: Part) -> None: ...


@pytest.mark.museum
async def test_a_key_for_every_attempt_is_found_by_a_single_trouble(tmp_path: Path) -> None:
    wanted, parts = target(None, "upstream_key_per_attempt"), Parts(tmp_path, Audience())
    troubles = Troubles(wanted, 1, Budget(60), parts)

    async with standing(wanted.service_file, tmp_path, seed=1, mutant=wanted.mutant) as world:
        passed = await clean_control(world, seed=1)
        await troubles.through(world, 5.0, tied=passed.tied)

    one, two = parts.all
    found = one.found
    assert found is not None
    assert found.kind == "one_charge_per_key"
    assert found.of == 20
    assert found.failed > 10  # the twenty play side by side, and are late now and then
    assert two.says == ("not explored: there is a violation to be mended first",)
    assert len(found.steps) == 2, "one trouble is enough"
    assert found.steps[0] == "a customer presses Pay"
    assert found.steps[1].startswith(read_scenario_file(Path(found.file)).file.title)
    test = (tmp_path / TEST_FILE).read_text()
    assert '"--mutant", "upstream_key_per_attempt", "--seed", "1"]' in test
    compile(test, "test", "exec")
    assert troubles.verdicts[-1].name == found.scenario
    again = StoredRun(tmp_path).judged()
    assert [verdict.name for verdict in again.scenarios] == [found.scenario]
    assert again.discovery(found.scenario, "one_charge_per_key") == found

    violated = [
        verdict
        for history in sorted((tmp_path / ASIDE).glob("level-1-*.jsonl"))
        if (verdict := judge_scenario(read_history(history), repeat="")).verdict == "violated"
    ]
    as_found = told_by_its_row(tmp_path, violated[0])
    told = {verdict.name: verdict for verdict in StoredRun(tmp_path).judged().scenarios}
    assert told[AS_FOUND].orders_violating("one_charge_per_key")
    assert told[AS_FOUND].invariants == as_found.invariants


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    parts = Parts(tmp_path, Audience())

    Troubles(target(None, None), 1, Budget(1), parts).leave_out()

    assert [(part.name, part.verdict) for part in parts.all] == [
        ("level-1", "not_applicable"),
        ("level-2", "not_applicable"),
    ]
