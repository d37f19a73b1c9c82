"""Services that are wrong only when something goes wrong: found by a single move, in one kill."""

from dataclasses import replace
from pathlib import Path

from onecharge.engine.explorer import Explored, explored, smallest
from onecharge.engine.stage import CHARGED_TWICE, Stage, kind_of
from onecharge.world.postgres import Postgres
from tests.engine.races import RACES, stage_of, world_of
from tests.engine.toys import times


async def explore(stage: Stage) -> Explored:
    return await explored(
        stage.make, stage.coverage(), systematically=times(60), by_chance=times(0)
    )


async def test_a_commit_that_is_tried_again_is_found_by_its_lost_acknowledgement(
    postgres: Postgres, tmp_path: Path
) -> None:
    race = replace(RACES["lost_commit"], scope="one-request-and-troubles")
    async with (
        world_of(race, tmp_path, server_url=postgres.url("postgres")) as world,
        stage_of(race, world) as stage,
    ):
        result = await explore(stage)
        assert result.found is not None
        small = await smallest(stage.make, result.found, most_runs=40)
        await stage.judged()

    assert result.found.kind == CHARGED_TWICE
    assert [choice.takes for choice in small.tape.choices if choice.deviates] == [
        "client:1 COMMIT #1 happens, and its acknowledgement is lost"
    ]
    assert small.failed == small.of == 20


async def test_a_service_that_forgets_when_it_dies_is_found_by_one_kill_for_all_places(
    postgres: Postgres, tmp_path: Path
) -> None:
    race = replace(RACES["in_memory"], scope="one-request-and-deaths")
    async with (
        world_of(race, tmp_path, server_url=postgres.url("postgres")) as world,
        stage_of(race, world) as stage,
    ):
        result = await explore(stage)
        verdict = await stage.judged()

    assert verdict is not None
    assert result.found is None  # not before it was judged
    assert result.coverage.exhausted
    wrong = {order for order in stage.courses if kind_of(verdict, order) == CHARGED_TWICE}
    died = {order for order, course in stage.courses.items() if course.died}
    assert wrong == died
    assert [stage.courses[order].moves for order in sorted(died)] == [
        [f"client:1 charge.create {seam} #1 waits, and the service dies"]
        for seam in ("on_receive", "after_commit")
    ]


async def test_where_no_connection_is_left_the_service_dies_and_the_run_is_made_once_more(
    postgres: Postgres, tmp_path: Path
) -> None:
    race = replace(RACES["lost_commit"], scope="one-request-and-deaths")  # its pool has three
    async with (
        world_of(race, tmp_path, server_url=postgres.url("postgres")) as world,
        stage_of(race, world) as stage,
    ):
        result = await explore(stage)
        verdict = await stage.judged()

    assert verdict is not None
    assert verdict.verdict == "holds"
    assert result.coverage.exhausted, result.coverage.sentences()
    died = [course.releases for course in stage.courses.values() if course.died]
    assert [len(releases) for releases in died] == [2, 3, 4, 5, 6, 7, 8]
