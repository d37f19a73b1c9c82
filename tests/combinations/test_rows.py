"""Rows: that every pair is in one, and nothing that excludes each other, is checked by counting."""

from collections import Counter
from itertools import combinations, groupby

from hypothesis import given, settings
from hypothesis import strategies as st

from onecharge.combinations.groups import STRUCK_TOGETHER, arranged
from onecharge.combinations.rows import Row, Space, why_apart
from onecharge.combinations.values import Call, Factor, FactorName, Value
from simulator.core.rules import DELIVERY

NAMES: tuple[FactorName, ...] = ("customer", "call", "delivery", "death", "concurrency")


def plain(name: FactorName, number: int, odd: frozenset[int] = frozenset()) -> Factor:
    """A factor of so many values; the odd ones cannot be had with two at once."""
    return Factor(
        name,
        tuple(
            Value(f"{name} {n}", paced=n in odd, at_once=2 if n and name == "concurrency" else 1)
            for n in range(number)
        ),
    )


def counted(space: Space) -> tuple[int, int]:
    """Count the pairs that can be had and those that cannot, in the plainest way there is."""
    can, cannot = 0, 0
    for one, two in combinations(space.factors, 2):
        for first in one.values[1:]:
            for second in two.values[1:]:
                if why_apart(first, second) is None:
                    can += 1
                else:
                    cannot += 1
    return can, cannot


@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=len(NAMES), max_size=len(NAMES)),
    odd=st.frozensets(st.integers(1, 3), max_size=2),
)
def test_every_pair_is_in_a_row_and_no_row_has_an_excluded_one(
    sizes: list[int], odd: frozenset[int]
) -> None:
    factors = [
        plain(name, size, odd if name == "customer" else frozenset())
        for name, size in zip(NAMES, sizes, strict=True)
    ]
    space = Space(factors)

    rows = space.covering()

    assert (len(space.pairs), len(space.excluded)) == counted(space)
    assert {pair for row in rows for pair in row.pairs} == set(space.pairs)
    assert all(space.allows(row) for row in rows)


def test_the_pairs_of_the_reference_are_all_in_few_rows(space: Space, rows: list[Row]) -> None:
    assert (len(space.pairs), len(space.excluded)) == counted(space)
    assert {pair for row in rows for pair in row.pairs} == set(space.pairs)
    assert all(space.allows(row) for row in rows)
    assert len(rows) < len(space.pairs) / 3


def test_rows_are_the_same_every_time(small: Space) -> None:
    assert small.covering() == Space(small.factors).covering()


def test_a_value_stays_in_a_row_only_for_a_pair_of_its_own(space: Space, rows: list[Row]) -> None:
    count = Counter(pair for row in rows for pair in row.pairs)

    for row in rows:
        for place in row.places:
            own = any(count[pair] == 1 for pair in row.pairs if place in pair)
            assert own or not space.allows(row.without(place[0]))  # another would not come alone


def test_level_1_is_every_value_alone_but_those_that_follow_another(space: Space) -> None:
    rows = space.singles()

    alone = [space.value(place) for row in rows for place in row.places]
    assert all(len(row.places) == 1 for row in rows)
    assert [value.name for value in alone] == [
        value.name
        for each in space.factors
        for value in each.values[1:]
        if value.troubles == 1 and not value.upon
    ]


def test_what_is_two_troubles_by_itself_is_played_with_the_pairs(
    space: Space, rows: list[Row]
) -> None:
    by_itself = space.pairs_in_one()

    assert [space.value(place).name for row in by_itself for place in row.places] == [
        "leaves, the provider never answers, and comes back late",
        "leaves, comes back late, and the call was on its way for long",
        "pays together with 15 others",
    ]
    assert not set(by_itself) & {*space.singles(), *rows}
    assert set(by_itself) <= set(arranged(space, [*rows, *by_itself], tied=True)[0])


def test_where_nothing_can_go_wrong_there_are_no_rows() -> None:
    space = Space([plain("customer", 1), plain("call", 1)])

    assert space.covering() == space.singles() == []


def test_groups_leave_nobody_out_and_have_one_kind_of_blow(space: Space, rows: list[Row]) -> None:
    groups = arranged(space, rows, tied=True)

    assert sorted((row for group in groups for row in group), key=repr) == sorted(rows, key=repr)
    for group in groups:
        values = [value for row in group for value in space.values(row)]
        kills = sum(value.kill is not None for value in values)
        crashes = sum(value.crash is not None for value in values)
        assert not (kills and crashes)
        assert kills + crashes <= STRUCK_TOGETHER


def test_whose_calls_go_wrong_begins_before_those_who_wait_for_nobody(space: Space) -> None:
    for group in arranged(space, space.singles(), tied=True):
        troubles = [space.factors[place].name for row in group for place, _ in row.places]
        kinds = [name for name, _ in groupby(troubles)]
        assert kinds[:2] == ["death", "call"]
        assert len(kinds) == len(set(kinds))


def test_where_charges_name_no_order_every_row_plays_by_itself(space: Space) -> None:
    rows = space.singles()

    assert arranged(space, rows, tied=False) == [[row] for row in rows]


def test_what_waits_for_a_further_call_comes_with_what_brings_one_about(small: Space) -> None:
    names = [factor.name for factor in small.factors]
    call, retry = names.index("call"), names.index("retry")
    waiting = [place for place in small.places() if place[0] == retry]
    again, looked_up = (call, 2), (call, 3)
    seen = {
        (call, 1): {Call("charge.create")},
        again: {Call("charge.create"), Call("charge.create", 2)},
        looked_up: {Call("charge.create"), Call("charge.list")},
    }

    known = small.after(seen)
    rows = known.covering()

    for row in rows:
        for place in set(row.places) & set(waiting):
            brings = looked_up if "look-up" in known.value(place).name else again
            assert brings in row.places
    assert {pair for row in rows for pair in row.pairs} == set(known.pairs)
    assert {((call, 1), place) for place in waiting} <= known.excluded.keys()


def test_what_nothing_brings_about_is_in_no_row(small: Space) -> None:
    known = small.after({})

    waiting = {place for place in known.places() if known.value(place).upon}
    assert waiting
    assert not waiting & {place for row in known.covering() for place in row.places}


def test_nobody_takes_another_key_without_a_decline(space: Space, rows: list[Row]) -> None:
    with_another = [row for row in rows if any(v.variant == "new_key" for v in space.values(row))]

    assert with_another
    for row in with_another:
        faults = [table for value in space.values(row) for table in value.faults]
        assert [each["fault"] for each in faults if each["operation"] != DELIVERY] == ["decline"]
        assert not any(value.kill or value.crash or value.upon for value in space.values(row))
