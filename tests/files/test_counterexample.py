"""A counterexample is a file that people read, and that says where it is wrong."""

from pathlib import Path

import pytest

from onecharge.engine.retold import Deviation, Step
from onecharge.engine.stage import SCOPES
from onecharge.engine.tapes.shrinking import Pinned
from onecharge.exploring.counterexample import (
    Counterexample,
    counterexample_of,
    is_counterexample,
    read_counterexample,
)
from onecharge.targets import target
from onecharge.toml_file import FileError

SERVICE = Path(__file__).parent.parent / "cli" / "onecharge.toml"
STEPS = (
    Step("client 1 sends POST /pay and stops before INSERT"),
    Step(
        'client 2 sends POST "/pay"',
        (
            Deviation(2, "release", 1, "client:2 POST /pay #1", "client:1 INSERT #1"),
            Deviation(4, "fault", 3, "client:2 COMMIT's answer is lost", "client:2 goes through"),
        ),
    ),
)


def counterexample(path: Path, *, mutant: str | None = None, pinned: str = "") -> Counterexample:
    return counterexample_of(
        path,
        STEPS,
        wanted=target(None if mutant else SERVICE, mutant),
        scope=SCOPES["two-requests"],
        violates="one_charge_per_key",
        seed=7,
        found_after=14,
        failed=19,
        of=20,
        pinned=pinned,
    )


def text_of(tmp_path: Path) -> str:
    return counterexample(tmp_path / "counterexample.toml").text


def refusal(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(FileError) as refused:
        read_counterexample(path)
    return str(refused.value).removeprefix(str(path))


def test_what_is_written_is_read_again_with_its_tape(tmp_path: Path) -> None:
    written = counterexample(tmp_path / "counterexample.toml", mutant="no_client_key_guard")
    written.write()

    read = read_counterexample(written.path)

    assert read == written
    assert is_counterexample(written.path)
    assert read.tape.token == "t1-2.1-4.3"
    assert [choice.takes for choice in read.tape.choices] == [
        *("", "", "client:2 POST /pay #1", "", "client:2 COMMIT's answer is lost"),
    ]
    assert read.steps == tuple(step.says for step in STEPS)
    assert read.target(None, None).mutant == "no_client_key_guard"


def test_that_an_order_is_pinned_is_said_where_it_is(tmp_path: Path) -> None:
    said = str(Pinned(before=4, since=10))
    written = counterexample(tmp_path / "counterexample.toml", pinned=said)
    written.write()

    assert said == "the order of its events is pinned: 10 of 10 repeats, 4 of 10 without that"
    assert read_counterexample(written.path).file.pinned == said
    assert "pinned" not in counterexample(written.path).text


def test_it_is_played_on_the_service_that_it_names_unless_another_is_named(tmp_path: Path) -> None:
    example = counterexample(tmp_path / "counterexample.toml")

    assert example.target(None, None).path == SERVICE
    assert example.target(None, "no_client_key_guard").mutant == "no_client_key_guard"


def test_a_service_that_is_gone_is_named_with_the_field(tmp_path: Path) -> None:
    path = tmp_path / "counterexample.toml"
    path.write_text(text_of(tmp_path).replace(str(SERVICE), "nowhere.toml"))

    with pytest.raises(FileError) as refused:
        read_counterexample(path).target(None, None)

    assert str(refused.value) == (
        f"{path}:13: service: nowhere.toml: no such file; say --service FILE or --mutant NAME"
    )


@pytest.mark.parametrize(
    "part, instead, says",
    [
        (
            "counterexample = 1",
            "counterexample = 2",
            ":5: counterexample: expected version 1, found 2",
        ),
        (
            'scope = "two-requests"',
            'scope = "two-request"',
            ":8: scope: no scope is called 'two-request'; did you mean 'two-requests'?",
        ),
        (
            'violates = "one_charge_per_key"',
            'violates = "one_charge"',
            ":7: violates: no invariant is called 'one_charge'; did you mean 'one_charge_per_key'?",
        ),
        ("seed = 7", "sede = 7", ":9: sede: unknown field; did you mean 'seed'?"),
        ("failed = 19", "failed = 21", ":11: failed: expected at most 20, found 21"),
        (
            "of = 20",
            'of = 20\nmutant = "no_client_key_guard"',
            ":13: mutant: a mutant is of the reference: service excludes it",
        ),
        (
            "place = 4",
            "place = 2",
            ":29: step[2].choice[2].place: expected places that ascend, found 2 after 2",
        ),
        ("takes =", "take =", ":25: step[2].choice[1].take: unknown field; did you mean 'takes'?"),
        (
            "alternative = 1",
            "alternative = 0",
            (
                ":24: step[2].choice[1].alternative: input should be greater than or equal to 1, "
                "found 0"
            ),
        ),
    ],
)
def test_a_mistake_is_told_by_line_and_field(
    part: str, instead: str, says: str, tmp_path: Path
) -> None:
    text = text_of(tmp_path)
    assert part in text

    assert refusal(tmp_path / "mine.toml", text.replace(part, instead, 1)) == says


def test_a_file_without_steps_is_none(tmp_path: Path) -> None:
    text = text_of(tmp_path).partition("[[step]]")[0]

    assert refusal(tmp_path / "mine.toml", text) == ": step: required, but missing"


def test_a_scenario_is_no_counterexample(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\nwhy = "Because"\n')

    assert not is_counterexample(path)
