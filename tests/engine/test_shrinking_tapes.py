"""The shrinker finds what it must, however flaky (beside others: ``benchmarks/shrinking.py``)."""

import random
from collections.abc import Collection

import pytest

from onecharge.engine.tapes.shrinking import MOST_REPEATS, shrunk
from onecharge.engine.tapes.tape import Choice, Tape

DOUBLE = "one_charge_per_key"
STEPS = 40
TRIALS = 12


class Flakiness:
    """A service that breaks with probability ``p`` if all the steps that matter are there."""

    def __init__(self, matter: Collection[int], p: float, seed: int) -> None:
        self.runs = 0
        self._matter = frozenset(matter)
        self._p = p
        self._chance = random.Random(f"flakiness/{seed}")

    def breaks(self, places: Collection[int]) -> bool:
        self.runs += 1
        return self._matter <= set(places) and self._chance.random() < self._p

    async def run(self, tape: Tape) -> str | None:
        return DOUBLE if self.breaks(tape.deviations) else None


def _three_of_forty(seed: int) -> list[int]:
    return random.Random(f"steps/{seed}").sample(range(STEPS), 3)


@pytest.mark.parametrize("p", [1.0, 0.5, 0.2, 0.05])
async def test_three_steps_of_forty_are_found_though_they_break_it_seldom(p: float) -> None:
    found, most = 0, 0
    for seed in range(TRIALS):
        matter = _three_of_forty(seed)
        flaky = Flakiness(matter, p, seed)
        result = await shrunk(Tape.of_indices([1] * STEPS), DOUBLE, flaky.run)
        found += set(result.tape.deviations) == set(matter)
        most = max(most, result.runs)
        assert result.runs == flaky.runs
        assert result.kind == DOUBLE
        assert result.of == MOST_REPEATS

    assert found >= 11
    assert most < 2_500


async def test_the_kind_of_violation_survives() -> None:
    async def run(tape: Tape) -> str | None:
        if {3, 5} <= set(tape.deviations):
            return DOUBLE
        return "every_order_settles" if tape.deviations else None

    result = await shrunk(Tape.of_indices([1] * 9), DOUBLE, run)

    assert result.tape.deviations == (3, 5)
    assert (result.failed, result.of, result.minimal) == (20, 20, True)


async def test_faults_go_before_releases_and_alternatives_become_plainer() -> None:
    tape = Tape((Choice("release", 3, "c"), Choice("fault", 2, "x"), Choice("release", 1, "b")))
    tried: list[str] = []

    async def run(tape: Tape) -> str | None:
        tried.append(tape.token)
        return DOUBLE if tape.deviations and tape.choices[0].index >= 2 else None

    result = await shrunk(tape, DOUBLE, run)

    assert result.tape.token == "t1-0.2"
    without_faults = tape.without([1]).token
    assert without_faults in tried
    assert all(token in {tape.token, "t1"} for token in tried[: tried.index(without_faults)])


async def test_what_needs_no_deviation_shrinks_to_the_boring_run() -> None:
    async def run(_: Tape) -> str | None:
        return DOUBLE

    result = await shrunk(Tape.of_indices([1] * STEPS), DOUBLE, run)

    assert result.tape == Tape()
    assert result.runs < 40


async def test_when_runs_run_out_the_best_so_far_is_returned_and_not_called_minimal() -> None:
    flaky = Flakiness([0, 39], 1.0, seed=1)
    result = await shrunk(Tape.of_indices([1] * STEPS), DOUBLE, flaky.run, most_runs=15)

    assert not result.minimal
    assert {0, 39} <= set(result.tape.deviations)
    assert result.failed == result.of


async def test_when_the_time_is_over_what_is_in_hand_is_repeated() -> None:
    matter = _three_of_forty(1)
    reliable = Flakiness(matter, 1.0, 1)

    result = await shrunk(
        Tape.of_indices([1] * STEPS), DOUBLE, reliable.run, within=lambda: reliable.runs < STEPS
    )

    assert set(matter) < set(result.tape.deviations)
    assert len(result.tape.deviations) < STEPS
    assert (result.failed, result.of, result.minimal) == (20, 20, False)
    assert result.runs == STEPS + MOST_REPEATS


async def test_what_more_careful_repeats_never_show_is_given_up_for_what_was_found() -> None:
    async def seems_to_break(tape: Tape) -> str | None:
        return DOUBLE if tape.deviations else None

    async def breaks(tape: Tape) -> str | None:
        return DOUBLE if {1, 3} <= set(tape.deviations) else None

    found = Tape.of_indices([1] * 5)
    result = await shrunk(found, DOUBLE, seems_to_break, repeat=breaks)

    assert result.tape == found
    assert (result.failed, result.of, result.minimal) == (20, 20, False)
