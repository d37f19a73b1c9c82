"""A tape survives its file and its token, and nonsense is refused in one sentence."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onecharge.engine.tapes.tape import Choice, NotATape, Tape

names = st.text(max_size=6)
tapes = st.builds(
    Tape, st.lists(st.builds(Choice, names, st.integers(0, 9), names, names)).map(tuple)
)


@settings(deadline=None, max_examples=30)
@given(tapes)
def test_a_tape_is_the_same_after_its_file(tape: Tape) -> None:
    assert Tape.of_text(tape.to_text()) == tape


@settings(deadline=None, max_examples=30)
@given(tapes)
def test_a_token_keeps_every_deviation_and_nothing_else(tape: Tape) -> None:
    read = Tape.of_token(tape.token)

    assert [choice.index for choice in read.choices] == [
        choice.index for choice in tape.trimmed.choices
    ]
    assert read.token == tape.token
    assert read.deviations == tape.deviations


@settings(deadline=None, max_examples=30)
@given(st.text(max_size=30))
def test_any_text_is_a_token_or_refused(text: str) -> None:
    try:
        tape = Tape.of_token(text)
    except NotATape:
        return
    assert tape.token == text


@settings(deadline=None, max_examples=30)
@given(tapes, st.sets(st.integers(0, 20)))
def test_what_is_taken_out_is_boring_and_the_rest_stays(tape: Tape, places: set[int]) -> None:
    rest = tape.without(places)

    assert set(rest.deviations) == set(tape.deviations) - places
    assert all(rest.choices[place] == tape.choices[place] for place in rest.deviations)


@pytest.mark.parametrize(
    "token", ["", "t1-", "t2-1.1", "t1-1.0", "t1-2.1-2.2", "t1-3.1-2.1", "t1-01.1", "t1-1"]
)
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(NotATape, match="expected"):
        Tape.of_token(token)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"onecharge_tape": 2, "choices": []}',
        '{"onecharge_tape": 1}',
        '{"onecharge_tape": 1, "choices": [3]}',
        '{"onecharge_tape": 1, "choices": [{"index": -1}]}',
        '{"onecharge_tape": 1, "choices": [{"index": true}]}',
        '{"onecharge_tape": 1, "choices": [{"indexes": 1}]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_tape_file_is_refused(text: str) -> None:
    with pytest.raises(NotATape, match="expected"):
        Tape.of_text(text)


def test_fewer_deviations_are_smaller_wherever_they_are() -> None:
    assert Tape.of_indices([0] * 30 + [4]).size < Tape.of_indices([1, 1]).size
