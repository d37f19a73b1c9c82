"""Hard races of real services are found, each in its scope, and explained by what was seen."""

from dataclasses import replace
from pathlib import Path

import pytest

from onecharge.engine.explorer import explored
from onecharge.engine.stage import Stage
from onecharge.explaining.explanation import Explanation, explained
from onecharge.history.assembly import case_of
from onecharge.world.postgres import Postgres
from onecharge.world.redis import redis_program
from tests.engine.races import RACES, Race, stage_of, world_of
from tests.engine.toys import times

HERE = [
    "local_lock",
    "short_lease",
    "forgets_first",
    "redis_guard",
    "looks_first",
    "in_memory",
    "fails_open",
    "lost_commit",
    pytest.param("gives_up", marks=pytest.mark.museum),  # its troubles take their time to heal
]
"""Those of two requests in one statement are found in ``test_exploring_services.py``."""

PATIENCE = 500
"""So many runs at most. A handful is enough where nothing else is under way; but where nothing can
be held, the machine decides what comes first, and one that is busy decides alike for a while."""


@pytest.mark.parametrize("name", HERE)
async def test_a_hard_race_is_found_and_explained(
    name: str, postgres: Postgres, tmp_path: Path
) -> None:
    race = RACES[name]
    if "redis" in race.stores and redis_program() is None:
        pytest.skip("there is no redis-server")
    server_url = postgres.url("postgres")
    async with (
        world_of(race, tmp_path, server_url=server_url) as world,
        stage_of(race, world) as stage,
    ):
        coverage = stage.coverage()
        result = await explored(
            stage.make, coverage, systematically=times(PATIENCE), by_chance=times(PATIENCE)
        )
        await stage.judged()

    assert result.found is not None
    assert result.found.kind == race.kind
    why = explanation(race, stage, coverage.orders)
    assert why.pattern in race.patterns
    assert (why.divergence is None) == (not coverage.orders)  # a late probe is none of the orders


@pytest.mark.museum  # whoever waits in a process's memory is told by silence, which takes its time
async def test_processes_at_one_address_are_both_reached(
    postgres: Postgres, tmp_path: Path
) -> None:
    race = replace(RACES["local_lock"], instances=1, workers=2)
    server_url = postgres.url("postgres")
    async with (
        world_of(race, tmp_path, server_url=server_url) as world,
        stage_of(race, world) as stage,
    ):
        result = await explored(
            stage.make, stage.coverage(), systematically=times(PATIENCE), by_chance=times(PATIENCE)
        )
        await stage.judged()

    assert result.found is not None
    assert result.found.kind == race.kind


def explanation(race: Race, stage: Stage, orders: set[tuple[str, ...]]) -> Explanation:
    """Explain the violation of the order that was run last."""
    assert stage.violated is not None
    order, course = list(stage.courses.items())[-1]
    (judgement,) = (i.judgement for i in stage.violated.invariants if i.name == race.kind)
    (violation,) = (v for v in judgement.violations if v.order == order)
    return explained(
        case_of(stage.records),
        race.kind,
        violation,
        records=stage.records,
        course=course.releases,
        passing=orders,
        lease_s=race.lease_s,
    )
