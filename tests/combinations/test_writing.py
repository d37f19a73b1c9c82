"""A row is an ordinary scenario: its text reads back as it was, and what it plans can be found."""

from pathlib import Path

from onecharge.combinations.rows import Row, Space
from onecharge.combinations.smallest import as_row, as_tape
from onecharge.combinations.writing import as_toml, planned, scenario_of
from onecharge.engine.tapes.shrinking import ORDER
from onecharge.engine.tapes.tape import Tape
from onecharge.scenario_file import read_scenario_file

MOST_STEPS = 8


def test_rows_read_back_from_their_files_as_they_were(
    space: Space, rows: list[Row], tmp_path: Path
) -> None:
    for number, row in enumerate([*space.singles(), *rows[::10]]):
        scenario = scenario_of(space, row, f"row-{number}")
        file = tmp_path / f"row-{number}.toml"
        file.write_text(as_toml(scenario))

        read = read_scenario_file(file)

        assert read.file == scenario.file
        assert read.fair or read.file.claimed
        assert len(read.file.steps) <= MOST_STEPS


def test_what_a_row_plans_is_what_its_scenario_announces(space: Space, rows: list[Row]) -> None:
    for row in rows:
        scenario = scenario_of(space, row, "row")
        named = [name for names in planned(space, row, scenario).values() for name in names]

        announced = {table.get("name", table.get("fault")) for table in scenario.plan({})}
        assert len(named) == len(set(named)) == len(announced)
        assert set(named) == announced


def test_whatever_strikes_strikes_the_subject(space: Space, rows: list[Row]) -> None:
    for row in rows:
        scenario = scenario_of(space, row, "row")
        subject = max(value.subject for value in space.values(row))

        assert {table["order"] for table in scenario.file.faults} <= {subject}
        assert {kill.order for kill in scenario.file.kills} <= {subject}


def test_what_strikes_a_second_call_is_asked_first(space: Space, rows: list[Row]) -> None:
    number = [factor.name for factor in space.factors].index("retry")
    for row in rows:
        if row.indices[number]:
            [first, *_] = scenario_of(space, row, "row").file.faults
            assert first == {
                **space.value((number, row.indices[number])).faults[0],
                "order": first["order"],
            }


def test_a_row_is_a_tape_in_words_that_shrinking_knows(space: Space, rows: list[Row]) -> None:
    for row in rows:
        tape = as_tape(space, row)

        assert as_row(space, tape) == row
        assert as_row(space, Tape.of_token(tape.token)) == row
        assert {choice.kind for choice in tape.choices} <= set(ORDER)


def test_nothing_at_all_is_a_scenario_too(space: Space) -> None:
    scenario = scenario_of(space, space.row({}), "row")

    assert scenario.file.title == "nothing goes wrong"
    assert not scenario.plan({})
