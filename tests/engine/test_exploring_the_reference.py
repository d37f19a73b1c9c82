"""The reference in every order there is: two requests, its own webhook, troubles, deaths."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.engine.explorer import explored
from onecharge.engine.stage import SCOPES, Stage
from onecharge.service_file import read_service_file
from onecharge.world.postgres import Postgres
from onecharge.world.world import World, standing

FILE = Path(__file__).parents[2] / "reference_impl" / "onecharge.toml"

pytestmark = pytest.mark.examples


@pytest.fixture(scope="module")
async def reference(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("exploring-the-reference")
    file, server_url = read_service_file(FILE), postgres.url("postgres")
    async with standing(file, folder, seed=1, server_url=server_url, gated=True) as world:
        await clean_control(world, seed=1)
        yield world


@pytest.mark.parametrize(
    "scope", ["one-request-and-deaths", "one-request-and-troubles", "own-webhook", "two-requests"]
)
async def test_the_reference_holds_in_every_order(reference: World, scope: str) -> None:
    async with Stage.set_up(reference, SCOPES[scope], seed=1, bound_s=6, repeat="") as stage:
        coverage = stage.coverage()
        result = await explored(
            stage.make, coverage, systematically=lambda: True, by_chance=lambda: False
        )
        await stage.judged()

    assert result.found is None
    assert {verdict.verdict for verdict in stage.verdicts} == {"holds"}
    # A run that does not follow its parent is made again, and a busy machine can hurry one.
    assert coverage.astray + coverage.unlike <= len(coverage.orders) // 20, coverage.sentences()
    if not coverage.astray + coverage.unlike:
        assert coverage.complete is not None
        assert coverage.exhausted or coverage.complete == coverage.most
