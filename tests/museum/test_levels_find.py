"""Mutants that a single trouble finds, and one that takes a pair of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from onecharge.combinations.factors import factors_of
from onecharge.combinations.levels import Combinations
from onecharge.combinations.playing import Playing
from onecharge.combinations.rows import Space
from onecharge.combinations.values import Call
from onecharge.control import clean_control
from onecharge.targets import mutants, target
from onecharge.world.postgres import Postgres
from onecharge.world.world import standing

pytestmark = [pytest.mark.museum, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("fingerprint_ignored", id="what a customer does"),
        pytest.param("failed_said_and_tried_again", id="what the provider answers"),
        pytest.param(
            "upstream_key_sticks_to_the_order",
            id="who is declined",
            marks=pytest.mark.whole_museum,
        ),
        pytest.param(
            "refund_key_per_attempt", id="who wants it back", marks=pytest.mark.whole_museum
        ),
        pytest.param(
            "invoice_known_by_its_event_only",
            id="what nobody presses",
            marks=pytest.mark.whole_museum,
        ),
    ],
)
async def test_a_single_trouble_finds_a_mutant(
    name: str, tmp_path: Path, postgres: Postgres
) -> None:
    wanted, server = target(None, name), postgres.url("postgres")
    async with standing(
        wanted.service_file, tmp_path, seed=1, mutant=name, server_url=server
    ) as world:
        passed = await clean_control(world, seed=1)
        bound_s = passed.bound_s(wanted.service_file.timing.settles_within_s)
        combinations = Combinations.of(world, seed=1, bound_s=bound_s, tied=passed.tied)
        level = next(combinations.levels(lambda: True))
        await combinations.play(level, lambda: True)

    assert level.number == 1
    assert level.found is not None, level.sentences()
    assert level.found.kind == mutants()[name].violates
    assert len(level.found.row.places) == 1


@pytest.mark.whole_museum
async def test_a_pair_finds_a_mutant_that_no_single_trouble_finds(
    tmp_path: Path, postgres: Postgres
) -> None:
    name = "replay_as_success"
    kept = {"presses again with other headers", "presses again after the answer"}
    kept |= {"decline at charge.create", "lose_reply at charge.create"}
    wanted, server = target(None, name), postgres.url("postgres")
    async with standing(
        wanted.service_file, tmp_path, seed=1, mutant=name, server_url=server
    ) as world:
        passed = await clean_control(world, seed=1)
        bound_s = passed.bound_s(wanted.service_file.timing.settles_within_s)
        space = Space(
            [
                replace(
                    factor, values=(factor.boring, *(v for v in factor.values if v.name in kept))
                )
                for factor in factors_of(
                    wanted.service_file, [Call("charge.create")], own_database=False
                )
            ]
        )
        playing = Playing(world, space, seed=1, bound_s=bound_s, repeat="")
        combinations = Combinations(playing, tied=passed.tied)
        levels = []
        for level in combinations.levels(lambda: True):
            await combinations.play(level, lambda: True)
            levels.append(level)
    one, two = levels

    assert one.complete, one.sentences()
    assert two.found is not None, two.sentences()
    assert two.found.kind == mutants()[name].violates
    assert two.found.scenario.file.title.endswith(", decline at charge.create")
