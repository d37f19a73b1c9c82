"""What the explorer finds and what it says, on toys that can be enumerated another way."""

import itertools
from collections.abc import Iterable
from math import comb

from onecharge.engine.course import Course
from onecharge.engine.explorer import Coverage, Explored, Found, Make, Ran, explored, smallest
from onecharge.engine.patience import Patience
from onecharge.engine.scheduler import Scheduler
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, Bound, Chooser
from tests.engine.toys import Toy, Way, times, two

TWICE = "one_charge_per_key"
OF = "of the observed statements of two requests with one key, one released at a time"
DEVIATIONS = "deviation(s) from the boring one"


def runs_of(way: Way, patience_s: float = 20.0) -> Make:
    async def make(chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make says
        toy = Toy()
        scheduler = Scheduler(
            toy.parking,
            chooser,
            patience=Patience(patience_s, patience_s),
            blocked=toy.blocked,
            all_at_once=all_at_once,
        )
        course = await scheduler.run(two(toy, way))
        return Ran(TWICE if len(toy.charges) > 1 else None, course)

    return make


async def explore(
    make: Make,
    *,
    runs: int = 10_000,
    chance: int = 0,
    bound: int | None = None,
    alike: frozenset[str] = frozenset(),
) -> Explored:
    coverage = Coverage("two requests with one key", "statements", alike=alike)
    return await explored(
        make, coverage, systematically=times(runs), by_chance=times(chance), bound=bound
    )


async def inserts_then_looks(toy: Toy, who: int) -> None:
    """Be right: one statement reserves the key, as INSERT … ON CONFLICT does."""
    await toy.statement(who, "INSERT INTO keys")
    first = "key" not in toy.rows
    toy.rows.add("key")
    await toy.statement(who, "SELECT FROM keys")
    if first:
        toy.charges.append(f"by {who}")


def _interleavings(first: Iterable[str], second: Iterable[str]) -> set[tuple[str, ...]]:
    """Return every order of two sequences, by recursion: another way than the explorer's."""
    first, second = tuple(first), tuple(second)
    if not first or not second:
        return {first + second}
    return {(first[0], *rest) for rest in _interleavings(first[1:], second)} | {
        (second[0], *rest) for rest in _interleavings(first, second[1:])
    }


async def test_a_right_service_is_exhausted_and_the_sentence_is_true() -> None:
    result = await explore(runs_of(inserts_then_looks))

    steps = ("INSERT INTO keys #1", "SELECT FROM keys #1")
    lanes = [
        (f"client:{n} POST /charges #1", *(f"client:{n} {step}" for step in steps)) for n in (1, 2)
    ]
    assert result.found is None
    assert result.coverage.orders == _interleavings(*lanes)
    assert result.coverage.exhausted
    assert result.coverage.sentences() == [
        f"all {comb(6, 3)} orders {OF}: explored",
        "3 run(s) with all at once, which are samples",
    ]


def _of_two(*steps: str) -> set[tuple[str, ...]]:
    first, second = (tuple(f"client:{n} {step} #1" for step in steps) for n in (1, 2))
    return _interleavings(first, second)


def _under_other_names(order: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"client:{'21'['12'.index(name[7])]}{name[8:]}" for name in order)


async def test_of_requests_that_are_alike_half_are_executed_and_the_sentence_is_true() -> None:
    alike = frozenset({"client:1", "client:2"})
    result = await explore(runs_of(inserts_then_looks), alike=alike)

    every = _of_two("POST /charges", "INSERT INTO keys", "SELECT FROM keys")
    executed = result.coverage.orders
    assert executed.isdisjoint(map(_under_other_names, executed))
    assert executed | set(map(_under_other_names, executed)) == every
    assert result.coverage.sentences()[0] == (
        f"all {len(every)} orders {OF}: explored, {len(every) // 2} of them executed and "
        f"{len(every) // 2} the same under other names"
    )


async def test_with_a_lock_the_orders_are_those_in_which_nobody_overtakes_who_has_it() -> None:
    result = await explore(runs_of(Toy.locks))

    def nobody_overtakes(order: tuple[str, ...]) -> bool:
        locked, ended = (
            [name[:8] for name in order if what in name] for what in ("FOR UPDATE", "COMMIT")
        )
        return locked == ended

    every = _of_two("POST /charges", "SELECT FOR UPDATE", "COMMIT")
    possible = set(filter(nobody_overtakes, every))
    assert 0 < len(possible) < len(every)
    assert result.coverage.orders == possible
    assert result.coverage.sentences()[0] == f"all {len(possible)} orders {OF}: explored"


async def test_a_race_is_found_by_one_deviation_and_shrunk_to_it() -> None:
    make = runs_of(Toy.looks_then_inserts)
    result = await explore(make)

    assert isinstance(result.found, Found)
    assert result.found.kind == TWICE
    assert len(result.found.tape.deviations) == 1

    small = await smallest(make, result.found, most_runs=200)
    assert (small.failed, small.of, small.minimal) == (20, 20, True)
    assert len(small.tape.deviations) == 1


async def test_without_time_for_all_nothing_is_called_all() -> None:
    result = await explore(runs_of(inserts_then_looks), runs=8)

    assert not result.coverage.exhausted
    assert result.coverage.sentences() == [
        f"7 orders {OF}, within the budget: every order with at most 1 {DEVIATIONS}",
        "1 run(s) with all at once, which are samples",
    ]


async def test_a_bound_is_said_as_what_it_is() -> None:
    result = await explore(runs_of(inserts_then_looks), bound=0)

    assert not result.coverage.exhausted
    assert result.coverage.sentences()[0].endswith(
        f"within the budget: every order with at most 0 {DEVIATIONS}"
    )


async def test_hurried_runs_are_samples_and_nothing_is_called_complete() -> None:
    result = await explore(runs_of(inserts_then_looks, patience_s=0))

    assert result.coverage.unlike
    assert not result.coverage.exhausted
    assert result.coverage.sentences()[0].endswith("no level can be called complete")


async def test_a_service_that_does_not_repeat_itself_is_never_called_exhausted() -> None:
    names = itertools.count()

    async def fickle(toy: Toy, who: int) -> None:
        await toy.statement(who, f"SELECT {next(names)}")

    result = await explore(runs_of(fickle))

    assert result.coverage.astray
    assert not result.coverage.exhausted
    assert any("went another way" in says for says in result.coverage.sentences())


async def test_chance_comes_after_and_says_its_bound() -> None:
    result = await explore(runs_of(inserts_then_looks), chance=10)

    assert result.coverage.sampled == 10
    assert result.coverage.exhausted
    assert result.coverage.bound == Bound(lanes=2, steps=6, depth=2, runs=5)
    assert result.coverage.sentences()[2:] == [
        "10 run(s) by chance, which are samples",
        str(result.coverage.bound),
    ]


async def test_a_race_inside_one_statement_is_found_by_all_at_once_only() -> None:
    make = runs_of(Toy.looks_then_inserts)

    async def only_together(chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make
        ran = await make(chooser, all_at_once)
        return ran if ran.course.together else Ran(None, ran.course)

    result = await explore(only_together)

    assert result.found is not None
    assert result.found.after == 2
    assert result.coverage.complete == 1  # what one deviation would have found is preferred
    assert ALL_AT_ONCE in {choice.takes for choice in result.found.tape.choices}
    assert (await smallest(only_together, result.found, most_runs=500)).failed == 20


async def test_a_course_without_events_is_one_order() -> None:
    async def nothing(_chooser: Chooser, _all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make
        return Ran(None, Course())

    result = await explore(nothing)

    assert result.coverage.exhausted
    assert result.coverage.sentences()[0].startswith("all 1 orders")


async def test_runs_that_came_to_the_same_are_looked_behind_last() -> None:
    looked: list[str] = []

    async def make(chooser: Chooser, _all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make
        first = chooser.choose("release", ["a 1", "b 1", "c 1"])
        second = chooser.choose("release", ["d 1", "e 1"])
        looked.append(f"{'abc'[first]}{'de'[second]}")
        return Ran(None, Course([looked[-1]]), came_to="the same" if first < 2 else "other")

    result = await explore(make)

    assert result.coverage.exhausted
    # b came to the same as a, so what lies behind c is looked at before what lies behind b.
    assert [each for each in dict.fromkeys(looked) if each in {"be", "ce"}] == ["ce", "be"]


async def test_where_all_was_done_and_nothing_races_nothing_is_left_to_chance() -> None:
    async def nothing(_chooser: Chooser, _all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make
        return Ran(None, Course())

    result = await explore(nothing, chance=10)

    assert result.coverage.exhausted
    assert result.coverage.sampled == 0
