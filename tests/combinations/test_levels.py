"""Both levels on a small service of somebody else's: right, and with a mistake found and shrunk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from onecharge.combinations.factors import factors_of
from onecharge.combinations.level import Level
from onecharge.combinations.levels import Combinations, left_out
from onecharge.combinations.playing import Playing
from onecharge.combinations.rows import Row, Space
from onecharge.combinations.smallest import smallest, surest
from onecharge.combinations.values import Call, Factor
from onecharge.combinations.writing import as_toml
from onecharge.control import clean_control
from onecharge.phases import Play, perform
from onecharge.scenario_file import read_scenario_file
from onecharge.service_file import ServiceFile
from onecharge.verdict import judge_scenario
from onecharge.world.world import World, standing

SEED = 1
KEPT = {
    "presses again after the answer",
    "gives up early and presses again",
    "hangs up once charged",
    "presses again with other headers",
    "refuse at charge.create",
    "time_out_after_commit at charge.create",
    "lose_reply at charge.create",
    "time_out_after_commit at charge.create #2",
    "redeliver concurrent of the news",
    "two at once",
}
"""What the corner shop is tried with: enough to see all of it, and no more than it can stand."""


def kept(factor: Factor, names: set[str]) -> Factor:
    values = (factor.boring, *(value for value in factor.values[1:] if value.name in names))
    return replace(factor, values=values)


@asynccontextmanager
async def combinations_of(
    file: ServiceFile, folder: Path, names: set[str] = KEPT, mistake: str = ""
) -> AsyncIterator[tuple[World, Combinations]]:
    env = {**file.service.env, "MISTAKE": mistake}
    file = file.model_copy(update={"service": file.service.model_copy(update={"env": env})})
    async with standing(file, folder, seed=SEED) as world:
        passed = await clean_control(world, SEED)
        factors = factors_of(file, [Call("charge.create")], own_database=False)
        space = Space([kept(factor, names) for factor in factors])
        bound_s = passed.bound_s(file.timing.settles_within_s)
        playing = Playing(world, space, seed=SEED, bound_s=bound_s, repeat="")
        yield world, Combinations(playing, tied=passed.tied)


def always() -> bool:
    return True


def harmless(combinations: Combinations) -> Row:
    """Return a row that no mistake of the shop's shows in."""
    space = combinations.space
    return next(row for row in space.singles() if "of the news" in space.values(row)[0].name)


async def played(combinations: Combinations) -> list[Level]:
    levels = []
    for level in combinations.levels(always):
        await combinations.play(level, always)
        levels.append(level)
    return levels


def titles(space: Space, rows: list[Row]) -> set[str]:
    return {value.name for row in rows for value in space.values(row)}


def never() -> bool:
    return False


async def test_the_right_one_holds_alone_and_in_pairs(
    shop_file: ServiceFile, tmp_path: Path
) -> None:
    async with combinations_of(shop_file, tmp_path) as (_, combinations):
        one, two = await played(combinations)

    assert one.complete, one.sentences()
    assert not one.never
    assert len(one.in_full) == one.played == len(KEPT) - 1  # all but what waits for a second call
    assert two.complete, two.sentences()
    assert len(two.together) > len(two.space.pairs) / 2
    assert two.sentences()[0].startswith(
        f"level 2, every pair of troubles: {len(two.rows)} of {len(two.rows)} rows played"
    )


async def test_a_second_charge_is_found_alone_shrunk_and_read_back_from_its_file(
    shop_file: ServiceFile, tmp_path: Path
) -> None:
    async with combinations_of(shop_file, tmp_path, mistake="charges_every_press") as (
        world,
        combinations,
    ):
        [level] = await played(combinations)
        assert level.found is not None, level.sentences()
        unsure = replace(level.found, row=harmless(combinations), rivals=(level.found.row,))
        surer = await surest(combinations.playing, unsure)
        small = await smallest(combinations.playing, level.found, most_runs=60)
        file = tmp_path / "counterexample.toml"
        file.write_text(as_toml(small.scenario))
        play = Play(world, read_scenario_file(file), SEED, bound_s=5)
        await perform(world, [play], SEED)

    assert level.number == 1
    assert (surer.row, surer.scenario.file) == (level.found.row, level.found.scenario.file)
    assert level.found.kind == small.shrunk.kind == "one_charge_per_key"
    assert small.shrunk.failed == small.shrunk.of
    assert len(small.row.places) == 1
    verdict = judge_scenario(play.recorder.records, repeat="")
    assert verdict.verdict == "violated"
    assert not verdict.not_reached


async def test_a_mistake_that_takes_two_troubles_is_found_by_a_pair_only(
    shop_file: ServiceFile, tmp_path: Path
) -> None:
    names = {
        "presses again after the answer",
        "time_out_after_commit at charge.create",
        "time_out_after_commit at charge.create #2",
    }
    async with combinations_of(shop_file, tmp_path, names, "loses_patience") as (
        _,
        combinations,
    ):
        one, two = await played(combinations)
        assert two.found is not None, two.sentences()

    assert one.found is None
    assert two.found.kind == "one_charge_per_key"


async def test_what_shows_among_others_only_is_repeated_among_others_though_time_is_up(
    shop_file: ServiceFile, tmp_path: Path
) -> None:
    names = {"presses again with other headers", "refuse at charge.create"}
    names |= {"lose_reply at charge.create", "redeliver concurrent of the news"}
    async with combinations_of(shop_file, tmp_path, names, "loses_count") as (_, combinations):
        levels = combinations.levels(never)
        one = next(levels)
        await combinations.play(one, always)
        two = next(levels)
        await combinations.play(two, never)
        assert two.found is not None, two.sentences()

    assert one.found is None
    assert two.cut
    assert two.sentences()[0].endswith("there was no time for the others")
    assert set(one.doubts.values()) == {"one_charge_per_key was violated once, among others"}
    assert two.found.kind == "one_charge_per_key"
    assert two.found.row in one.rows


async def test_many_die_by_one_kill_and_start_again(shop_file: ServiceFile, tmp_path: Path) -> None:
    # Nothing has happened there yet: the shop can do without its memory.
    names = {value for value in KEPT if "redeliver" in value}
    names |= {
        "the service is killed when the provider has its call at charge.create",
        "the service is killed when the provider has claimed its key at charge.create",
    }
    async with combinations_of(shop_file, tmp_path, names) as (world, combinations):
        rows = combinations.space.singles()
        judged = await combinations.playing.together(rows, "one-kill")
        crashes = [
            r for r in world.recorder.records if (r.lane, r.kind) == ("process:service-1", "crash")
        ]

    assert [(one.verdict.reasons, one.verdict.not_reached, one.kind) for one in judged] == [
        ((), (), None) for _ in judged
    ]
    assert all(one.whole for one in judged)
    assert len(crashes) == 1


def test_a_level_cut_short_says_how_far_it_came(space: Space) -> None:
    level = Level(1, space, [space.singles()], played=2)
    level.came_about = {row.places[0] for row in space.singles()[:1]}
    level.in_full = set(space.singles()[:1])
    level.doubts["odd"] = "an odd thing"

    assert not level.complete
    assert level.sentences() == [
        (
            f"level 1, every single trouble: 2 of {len(level.rows)} rows played, 1 exercised in "
            f"full; 1 of {len(level.rows)} troubles came about"
        ),
        "never came about: presses again around the end of the first request",
        "1 row(s) are in doubt: odd: an odd thing",
    ]


def test_what_is_left_out_and_excluded_is_said_with_its_reason(space: Space) -> None:
    excluded = left_out(space)

    assert all(" pairs excluded: " in says for says in excluded)
    counts = [int(says.partition(" ")[0]) for says in excluded]
    assert sum(counts) == len(space.excluded)
