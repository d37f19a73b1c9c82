"""The engines, on toys whose runs can be counted another way."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onecharge.engine.tapes.chooser import (
    RELEASE,
    Boring,
    Bound,
    Chooser,
    Drawn,
    Priorities,
    Replay,
    Swarm,
    Taping,
)
from onecharge.engine.tapes.odometer import Odometer, renamings
from onecharge.engine.tapes.tape import Choice, Tape

Trace = tuple[str, ...]
Toy = Callable[[Chooser], Trace]


def interleaving(*steps: int, extra: Mapping[Trace, int] | None = None) -> Toy:
    """Return a toy: so many lanes, each with so many steps, in any order.

    ``extra`` gives lane 0 more steps once a run has begun in a certain way.
    """

    def play(chooser: Chooser) -> Trace:
        left = list(steps)
        trace: Trace = ()
        while any(left):
            lanes = [f"lane:{lane}" for lane, more in enumerate(left) if more]
            lane = lanes[chooser.choose(RELEASE, lanes)]
            left[int(lane.removeprefix("lane:"))] -= 1
            trace = (*trace, lane)
            left[0] += (extra or {}).get(trace, 0)
        return trace

    return play


def every_run(toy: Toy) -> Iterator[Trace]:
    """Enumerate a toy by depth first over prefixes: another way than the odometer's."""
    prefixes: list[tuple[int, ...]] = [()]
    while prefixes:
        prefix = prefixes.pop()
        taping = Taping(Drawn(Tape(tuple(Choice(index=index) for index in prefix))))
        trace = toy(taping)
        if len(taping.asked) == len(prefix):
            yield trace
            continue
        width = len(taping.asked[len(prefix)].alternatives)
        prefixes += [(*prefix, index) for index in range(width)]


def driven(toy: Toy, bound: int | None = None) -> tuple[Odometer, list[tuple[int, Trace]]]:
    """Return an odometer at its end, and the level and trace of every run in order."""
    odometer, made = Odometer(bound), []
    while plan := odometer.next():
        taping = Taping(plan.choose_from())
        made.append((odometer.level, toy(taping)))
        assert len(taping.tape.deviations) == odometer.level
        odometer.done(taping.asked)
    return odometer, made


@pytest.mark.parametrize(
    "toy",
    [
        interleaving(1),
        interleaving(3, 3),
        interleaving(2, 2, 2),
        interleaving(1, 4),
        interleaving(2, 2, extra={("lane:1", "lane:0"): 2, ("lane:1", "lane:1"): 1}),
    ],
    ids=["no choice", "two lanes", "three lanes", "unequal lanes", "steps discovered late"],
)
def test_the_odometer_makes_every_run_there_is_and_none_twice(toy: Toy) -> None:
    odometer, made = driven(toy)

    traces = [trace for _, trace in made]
    assert sorted(traces) == sorted(every_run(toy))
    assert len(set(traces)) == len(traces)
    assert odometer.exhausted
    assert sum(odometer.levels) == odometer.runs == len(made)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 2), min_size=1, max_size=3))
def test_as_many_runs_as_there_are_interleavings(steps: list[int]) -> None:
    odometer, _ = driven(interleaving(*steps))

    expected, total = 1, 0
    for more in steps:
        total += more
        expected *= comb(total, more)
    assert odometer.runs == expected


def test_levels_are_complete_in_order() -> None:
    _, made = driven(interleaving(3, 3))

    levels = [level for level, _ in made]
    assert levels == sorted(levels)
    assert levels[0] == 0
    assert levels.count(0) == 1


@pytest.mark.parametrize("bound", [0, 1, 2])
def test_a_bound_cuts_off_what_deviates_more_often_and_nothing_else(bound: int) -> None:
    toy = interleaving(3, 3)
    odometer, made = driven(toy, bound)

    _, complete = driven(toy)
    assert made == [run for run in complete if run[0] <= bound]
    assert not odometer.exhausted
    assert len(odometer.levels) == bound + 1


def test_a_bound_beyond_the_last_deviation_cuts_nothing_off() -> None:
    odometer, _ = driven(interleaving(2, 2), bound=50)

    assert odometer.exhausted


def test_what_never_follows_its_parent_is_astray_and_nothing_is_exhausted() -> None:
    turns = itertools.count()

    def fickle(chooser: Chooser) -> Trace:
        return (str(chooser.choose(f"question {next(turns)}", ["a", "b"])),)

    odometer = Odometer()
    while plan := odometer.next():
        taping = Taping(plan.choose_from())
        fickle(taping)
        odometer.done(taping.asked)

    assert odometer.astray == 1
    assert odometer.runs == 1 + 3  # the boring run, and three attempts to follow it
    assert not odometer.exhausted


def test_a_run_that_follows_at_the_second_attempt_is_not_astray() -> None:
    turns = itertools.count()

    def hesitant(chooser: Chooser) -> Trace:
        question = "another" if next(turns) == 1 else "the same"
        return (str(chooser.choose(question, ["a", "b"])),)

    odometer = Odometer()
    while plan := odometer.next():
        taping = Taping(plan.choose_from())
        hesitant(taping)
        odometer.done(taping.asked)

    assert odometer.exhausted
    assert odometer.runs == 3


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 5), max_size=12))
def test_a_drawn_tape_is_replayed_by_its_record_its_file_and_its_token(drawn: list[int]) -> None:
    toy = interleaving(3, 3)
    first = Taping(Drawn(Tape.of_indices(drawn)))
    trace = toy(first)

    for tape in (first.tape, Tape.of_text(first.tape.to_text()), Tape.of_token(first.tape.token)):
        replay = Replay(tape)
        again = Taping(replay)
        assert toy(again) == trace
        assert again.tape == first.tape
        assert not replay.departures
        assert not replay.unread


def test_a_replay_says_what_is_not_on_offer_and_goes_on_boringly() -> None:
    replay = Replay(
        Tape(
            (
                Choice(RELEASE, 1, "lane:9 gone"),
                Choice("fault", 1, "refuse"),
                Choice(index=7),
                Choice(RELEASE, 1, "lane:0 moved"),
                Choice(index=1),
            )
        )
    )

    chosen = [replay.choose(RELEASE, ["lane:0 moved", "lane:1"]) for _ in range(4)]

    assert chosen == [0, 0, 0, 0]
    assert [says.partition(":")[0] for says in replay.departures] == [
        "choice 0 (release)",
        "choice 1 (release)",
        "choice 2 (release)",
    ]
    assert replay.unread == 1


def test_a_replay_knows_an_alternative_by_its_name_wherever_it_stands() -> None:
    replay = Replay(Tape((Choice(RELEASE, 1, "lane:2 b"),)))

    assert replay.choose(RELEASE, ["lane:0", "lane:1", "lane:2 b"]) == 2


@pytest.mark.parametrize(
    "engine", [Swarm, lambda seed: Priorities(seed, depth=3, steps=8)], ids=["swarm", "priorities"]
)
def test_chance_repeats_by_its_seed_and_differs_between_seeds(
    engine: Callable[[int], Chooser],
) -> None:
    toy = interleaving(4, 4)

    assert [toy(engine(seed)) for seed in range(20)] == [toy(engine(seed)) for seed in range(20)]
    assert len({toy(engine(seed)) for seed in range(20)}) > 1


def test_the_swarm_switches_some_off_and_weighs_the_others_wildly() -> None:
    names = [f"lane:{number}" for number in range(6)]
    shares = []
    for seed in range(40):
        swarm = Swarm(seed)
        taken = Counter(swarm.choose(RELEASE, names) for _ in range(200))
        shares.append([taken[number] / 200 for number in range(6)])

    assert any(share == 0.0 for one in shares for share in one)
    assert any(share > 0.9 for one in shares for share in one)


def test_priorities_find_a_race_of_depth_two_at_least_as_often_as_their_bound_says() -> None:
    # Lane 1 must run after the second and before the third of the five steps of lane 0.
    wanted = ("lane:0", "lane:0", "lane:1")
    toy, runs = interleaving(5, 1), 2_000
    bound = Bound(lanes=2, steps=6, depth=2, runs=runs)

    found = sum(toy(Priorities(seed, depth=2, steps=6))[:3] == wanted for seed in range(runs))

    assert found / runs >= 0.8 * bound.per_run  # the bound is tight here: it is met on average


def test_without_falls_a_lane_runs_to_its_end_before_the_next() -> None:
    traces = {interleaving(3, 3)(Priorities(seed, depth=1, steps=6)) for seed in range(30)}

    assert traces == {("lane:0",) * 3 + ("lane:1",) * 3, ("lane:1",) * 3 + ("lane:0",) * 3}


def test_the_bound_is_a_sentence() -> None:
    assert str(Bound(lanes=4, steps=11, depth=2, runs=300)) == (
        "a race of depth 2 among 4 lanes and 11 releases is found by one run with a probability "
        "of at least 1/(4·11^1) = 0.023; 300 runs miss it with one of at most 0.001"
    )


def test_the_boring_run_takes_the_first_throughout() -> None:
    assert interleaving(2, 2)(Boring()) == ("lane:0", "lane:0", "lane:1", "lane:1")


def alike(*steps: int) -> Toy:
    """Return a toy whose lanes tell what they do, and are the same but for their names."""

    def play(chooser: Chooser) -> Trace:
        done = [0 for _ in steps]
        trace: Trace = ()
        while any(done[lane] < of for lane, of in enumerate(steps)):
            names = [f"client:{n} step #{done[n]}" for n, of in enumerate(steps) if done[n] < of]
            name = names[chooser.choose(RELEASE, names)]
            done[int(name[7])] += 1
            trace = (*trace, name)
        return trace

    return play


def _renamed(trace: Trace) -> Trace:
    """Name the lanes of a run by the order in which they began."""
    order = list(dict.fromkeys(name[7] for name in trace))
    return tuple(f"client:{order.index(name[7])}{name[8:]}" for name in trace)


@pytest.mark.parametrize("steps", [(2, 2), (3, 3), (2, 2, 2)], ids=str)
def test_renamings_are_left_out_and_counted(steps: tuple[int, ...]) -> None:
    toy, lanes = alike(*steps), [f"client:{lane}" for lane in range(len(steps))]
    odometer, made, stood_for = Odometer(alike=lanes), [], 0
    while plan := odometer.next():
        taping = Taping(plan.choose_from())
        made.append(toy(taping))
        odometer.done(taping.asked)
        stood_for += renamings(taping.asked, lanes)

    every = list(every_run(toy))
    assert sorted(made) == sorted({_renamed(trace) for trace in every})
    assert stood_for == len(every)
    assert odometer.exhausted


def test_a_run_of_which_nothing_is_alike_stands_for_itself() -> None:
    taping = Taping(Boring())
    interleaving(2, 2)(taping)

    assert renamings(taping.asked, ()) == 1


def test_what_lies_behind_the_same_is_postponed_and_never_dropped() -> None:
    toy = interleaving(3, 3)
    _, usual = driven(toy)
    odometer, made = Odometer(), []
    while plan := odometer.next():
        taping = Taping(plan.choose_from())
        made.append((odometer.level, toy(taping)))
        # Say of every second run that it came to the same as another one.
        odometer.done(taping.asked, seen_before=len(made) % 2 == 0)

    assert made != usual
    assert sorted(made) == sorted(usual)
    assert [level for level, _ in made] == [level for level, _ in usual]
    assert odometer.exhausted
