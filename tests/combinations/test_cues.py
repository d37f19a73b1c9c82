"""Of those who play side by side few begin at once, and whoever is through makes room."""

import asyncio
from pathlib import Path

import pytest

from onecharge.combinations import cues
from onecharge.combinations.cues import A_FEW, Cues
from onecharge.combinations.rows import Space
from onecharge.combinations.staged import StagedPlay
from onecharge.combinations.writing import scenario_of
from onecharge.service_file import ServiceFile
from onecharge.world.world import World


async def never() -> None:
    raise AssertionError("nobody is to be struck")


async def all_that_can_happen_now() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def world(reference_file: ServiceFile, tmp_path: Path) -> World:
    """A world in which nothing runs."""
    return World(reference_file, tmp_path, seed=1)


async def test_whoever_is_through_makes_room_for_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cues, "HEAD_START_S", 3_600)
    cue = Cues(world, [], never, patience_s=1)
    first, *others = (f"row-{number}" for number in range(A_FEW))
    for label in (first, *others):
        await cue.turn(label)
    one_more = asyncio.create_task(cue.turn("one-more"))
    await all_that_can_happen_now()
    assert not one_more.done()

    cue.over(first)
    await one_more
    and_another = asyncio.create_task(cue.turn("and-another"))
    cue.over(first)  # it made room already
    await all_that_can_happen_now()
    assert not and_another.done()
    and_another.cancel()


async def test_whoever_waits_for_something_makes_room_after_a_while(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cues, "HEAD_START_S", 0)
    cue = Cues(world, [], never, patience_s=1)
    for number in range(3 * A_FEW):
        await cue.turn(f"row-{number}")


def test_only_who_dies_of_news_comes_to_that_after_the_customers_are_through(
    world: World, space: Space
) -> None:
    waiting = [
        play.scenario.file.title
        for row in space.singles()
        for play in [StagedPlay(world, scenario_of(space, row, "row"), seed=1, bound_s=1)]
        if play.waits_for_news
    ]
    assert waiting == ["the service is killed when it has acknowledged an event"]
