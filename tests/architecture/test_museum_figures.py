"""What the README tells of the museum: every mutant is one that there is, and told in few steps."""

import json

import pytest

from onecharge.catalogues import FIGURES
from onecharge.engine.retold import MOST_STEPS
from onecharge.targets import mutants

RUNS = json.loads((FIGURES / "museum.json").read_text())["runs"]
FOUND = [run for run in RUNS if run["detected"]]


def test_the_museum_tells_of_mutants_that_there_are() -> None:
    assert FOUND
    assert {run["mutant"] for run in RUNS} <= mutants().keys()
    assert all(run["names"] == mutants()[run["mutant"]].violates for run in RUNS)


@pytest.mark.parametrize("run", FOUND, ids=lambda run: f"{run['mutant']}-{run['seed']}")
def test_a_counterexample_is_told_in_at_most_eight_steps(run: dict[str, list[str]]) -> None:
    assert 0 < len(run["says"]) <= MOST_STEPS
    assert not [step for step in run["says"] if step.startswith("and so on")]
