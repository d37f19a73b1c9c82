"""The same tape, the same history: a few repeats (fifty: ``benchmarks/exploring.py``)."""

from dataclasses import replace
from pathlib import Path

from onecharge.engine.tapes.chooser import Priorities, Replay, Taping
from onecharge.engine.tapes.tape import Tape
from onecharge.history.sameness import retold
from onecharge.world.postgres import Postgres
from tests.engine.races import RACES, stage_of, world_of


async def test_a_tape_of_single_releases_makes_the_same_history_every_time(
    postgres: Postgres, tmp_path: Path
) -> None:
    race = replace(RACES["lost_commit"], scope="two-requests")
    async with (
        world_of(race, tmp_path, server_url=postgres.url("postgres")) as world,
        stage_of(race, world) as stage,
    ):

        async def told(tape: Tape) -> tuple[str, ...]:
            ran = await stage.make(Replay(tape), all_at_once=False)
            assert ran.course.counts
            order = list(stage.courses)[-1]
            return (*ran.course.releases, *retold(stage.records, order))

        for seed in range(3):
            first = Taping(Priorities(seed, depth=3, steps=13))
            await stage.make(first, all_at_once=False)
            assert len({await told(first.tape) for _ in range(4)}) == 1
