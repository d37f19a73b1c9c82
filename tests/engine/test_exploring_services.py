"""The explorer on real services and a real PostgreSQL: wrong ones found, the right one done."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.engine.explorer import explored, smallest
from onecharge.engine.stage import CHARGED_TWICE, SCOPES, Stage
from onecharge.service_file import read_service_file
from onecharge.world.postgres import Postgres
from onecharge.world.world import standing
from tests.engine.toys import times

FILE = Path(__file__).parent / "services" / "onecharge.toml"
TWO = SCOPES["two-requests"]


@asynccontextmanager
async def stage_of(guard: str, folder: Path, postgres: Postgres) -> AsyncIterator[Stage]:
    file = read_service_file(FILE)
    env = {**file.service.env, "GUARD": guard}
    file = file.model_copy(update={"service": file.service.model_copy(update={"env": env})})
    server_url = postgres.url("postgres")
    async with standing(file, folder, seed=1, gated=True, server_url=server_url) as world:
        await clean_control(world, seed=1)
        async with Stage.set_up(world, TWO, seed=1, bound_s=10, repeat="") as stage:
            yield stage


async def test_the_right_one_is_exhausted_and_holds(postgres: Postgres, tmp_path: Path) -> None:
    async with stage_of("on_conflict", tmp_path, postgres) as stage:
        result = await explored(
            stage.make, stage.coverage(), systematically=times(1_000), by_chance=times(0)
        )
        await stage.judged()

    assert result.found is None
    assert result.coverage.exhausted, result.coverage.sentences()
    assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
    assert result.coverage.sentences()[0] == (
        "all 80 orders of the observed statements and provider calls of two requests with one key, "
        "one released at a time: explored, 40 of them executed and 40 the same under other names"
    )


@pytest.mark.parametrize("guard", ["look_first", "lock_nothing"])
async def test_a_race_between_statements_is_found_and_shrunk(
    guard: str, postgres: Postgres, tmp_path: Path
) -> None:
    async with stage_of(guard, tmp_path, postgres) as stage:
        result = await explored(
            stage.make, stage.coverage(), systematically=times(100), by_chance=times(0)
        )
        assert result.found is not None
        small = await smallest(stage.make, result.found, most_runs=60)
        verdict = await stage.judged()

    assert small.kind == CHARGED_TWICE
    assert small.failed == small.of == 20
    assert len(small.tape.deviations) == 1
    assert verdict is not None
    assert verdict.verdict == "violated"


async def test_a_race_inside_one_statement_is_found_by_all_at_once(
    postgres: Postgres, tmp_path: Path
) -> None:
    async with stage_of("not_exists", tmp_path, postgres) as stage:
        result = await explored(
            stage.make, stage.coverage(), systematically=times(100), by_chance=times(0)
        )

    assert result.found is not None
    assert result.found.kind == CHARGED_TWICE
    assert result.coverage.in_step <= 2  # the machine decides, so it may miss


async def test_without_a_database_a_request_races_its_own_webhook(tmp_path: Path) -> None:
    file = read_service_file(FILE.parents[2] / "cli" / "onecharge.toml")
    async with standing(file, tmp_path, seed=1, gated=True) as world:
        await clean_control(world, seed=1)
        scope = SCOPES["own-webhook"]
        async with Stage.set_up(world, scope, seed=1, bound_s=10, repeat="") as stage:
            result = await explored(
                stage.make, stage.coverage(), systematically=times(100), by_chance=times(0)
            )
            await stage.judged()

    assert result.found is None
    assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
    # The event is there once the provider has committed: before the answer goes, or after.
    request = ("client:1 POST /pay #1", "client:1 charge.create on_receive #1")
    answer, webhook = "client:1 charge.create after_commit #1", "webhook:1 charge.captured #1"
    assert result.coverage.orders == {(*request, answer, webhook), (*request, webhook, answer)}
    assert result.coverage.sentences()[0] == (
        "all 2 orders of the observed provider calls of a request and its own webhook, one "
        "released at a time: explored"
    )
