"""The levels as a part of a run: what is found is a scenario that anybody can play again."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.explored import Part, Parts
from onecharge.exploring.exploration import Budget
from onecharge.exploring.troubles import Troubles
from onecharge.report.pytest_file import TEST_FILE
from onecharge.scenario_file import read_scenario_file
from onecharge.stored_run import StoredRun
from onecharge.targets import target
from onecharge.world.world import standing


class Audience:
    def step(self, says: str) -> None: ...

    def playing(self, name: str) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def explored(self, part: Part) -> None: ...


@pytest.mark.museum
async def test_a_key_for_every_attempt_is_found_by_a_single_trouble(tmp_path: Path) -> None:
    wanted, parts = target(None, "upstream_key_per_attempt"), Parts(tmp_path, Audience())
    singles = Troubles(wanted, 1, Budget(60), parts)
    pairs = Troubles(wanted, 1, Budget(60), parts, after=singles)

    async with standing(wanted.service_file, tmp_path, seed=1, mutant=wanted.mutant) as world:
        passed = await clean_control(world, seed=1)
        for level in (singles, pairs):
            await level.through(world, 5.0, tied=passed.tied)

    one, two = parts.all
    found = one.found
    assert found is not None
    assert found.kind == "one_charge_per_key"
    assert (found.failed, found.of) == (20, 20)
    assert two.says == ("not explored: there is a violation to be mended first",)
    assert len(found.steps) == 2, "one trouble is enough"
    assert found.steps[0] == "a customer presses Pay"
    assert found.steps[1].startswith(read_scenario_file(Path(found.file)).file.title)
    test = (tmp_path / TEST_FILE).read_text()
    assert '"--mutant", "upstream_key_per_attempt", "--seed", "1"]' in test
    compile(test, "test", "exec")
    assert singles.verdicts[-1].name == found.scenario
    again = StoredRun(tmp_path).judged()
    assert [verdict.name for verdict in again.scenarios] == [found.scenario]
    assert again.discovery(found.scenario, "one_charge_per_key") == found


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    parts = Parts(tmp_path, Audience())

    singles = Troubles(target(None, None), 1, Budget(1), parts)
    singles.leave_out()
    Troubles(target(None, None), 1, Budget(1), parts, after=singles).leave_out()

    assert [(part.name, part.verdict) for part in parts.all] == [
        ("level-1", "not_applicable"),
        ("level-2", "not_applicable"),
    ]
