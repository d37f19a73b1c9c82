"""A run is judged again from what lies on disk, whole or cut short."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from onecharge.history.records import to_line
from onecharge.stored_run import NotARun, StoredRun, stored_run
from tests.report.conftest import doubled, on_disk, right

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

REPEAT = "onecharge verify --service shop.toml --scenario a --seed 7"


def manifest(folder: Path, **told: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"seed": 7, "service": "shop", **told}))


def in_(folder: Path) -> StoredRun:
    return stored_run(str(folder))


def test_a_run_is_judged_from_its_histories_alone(tell: type["Tale"], tmp_path: Path) -> None:
    manifest(tmp_path, scenarios=["b", "a"], mutant="x", began="today")
    on_disk(doubled(tell("ord-1", scenario="a", repeat=REPEAT), "ord-1"), tmp_path / "a.jsonl")
    on_disk(right(tell("ord-1", scenario="b")), tmp_path / "b.jsonl")
    on_disk(right(tell("ord-1", announced=False)), tmp_path / "control.jsonl")
    (tmp_path / "verdict.json").write_text('{"verdict": "holds"}')

    run = in_(tmp_path)
    verdict = run.judged()

    assert (run.service, run.began, run.seed) == ("shop with mutant x", "today", 7)
    assert (verdict.verdict, verdict.seed, verdict.interrupted) == ("violated", 7, None)
    assert [(s.name, s.verdict) for s in verdict.scenarios] == [("b", "holds"), ("a", "violated")]
    assert verdict.scenarios[0].repeat == "onecharge verify --scenario b --mutant x --seed 7"
    assert verdict.scenarios[1].repeat == REPEAT
    assert len(run.records("a")) > len(run.records("unheard of")) == 0


def test_a_lone_history_is_a_run(tell: type["Tale"], tmp_path: Path) -> None:
    on_disk(right(tell("ord-1", scenario="a")), tmp_path / "mine.jsonl")

    verdict = in_(tmp_path).judged()

    assert (verdict.verdict, verdict.seed) == ("holds", 7)
    assert verdict.scenarios[0].name == "mine"


def test_a_run_that_was_killed_is_unknown_and_shows_what_there_is(
    tell: type["Tale"], tmp_path: Path
) -> None:
    manifest(tmp_path, scenarios=["a", "b", "c"])
    tale = tell("ord-1", scenario="a")
    tale.phase("faults")
    tale.pays("ord-1")
    path = on_disk(tale, tmp_path / "a.jsonl")
    path.write_text(path.read_text() + to_line(tale.records[-1])[:20])

    verdict = in_(tmp_path).judged()

    assert (verdict.verdict, verdict.interrupted) == ("unknown", "cut short before b and 1 more")
    assert "the run was cut short (in faults)" in verdict.scenarios[0].reasons
    assert verdict.scenarios[0].charges == 1


@pytest.mark.parametrize("text", ["", '{"onecharge_hist'])
def test_a_history_of_which_nothing_was_written_is_unknown(tmp_path: Path, text: str) -> None:
    manifest(tmp_path, scenarios=["a"])
    (tmp_path / "a.jsonl").write_text(text)

    [scenario] = in_(tmp_path).judged().scenarios

    assert (scenario.name, scenario.verdict) == ("a", "unknown")


def test_what_was_played_again_alone_counts(tell: type["Tale"], tmp_path: Path) -> None:
    manifest(tmp_path, scenarios=["a", "b.alone"])
    on_disk(doubled(tell("ord-1", scenario="a"), "ord-1"), tmp_path / "a.jsonl")
    on_disk(right(tell("ord-1", scenario="a")), tmp_path / "a.alone.jsonl")
    on_disk(right(tell("ord-1", scenario="b.alone")), tmp_path / "b.alone.jsonl")

    verdict = in_(tmp_path).judged()

    assert [(s.name, s.verdict) for s in verdict.scenarios] == [
        ("a", "holds"),
        ("b.alone", "holds"),
    ]
    assert verdict.interrupted is None


def test_what_went_wrong_with_the_playing_is_not_forgotten(
    tell: type["Tale"], tmp_path: Path
) -> None:
    tale = right(tell("ord-1", scenario="a"))
    tale.judge("unknown", "trouble", says="the service did not come back")
    on_disk(tale, tmp_path / "a.jsonl")

    [scenario] = in_(tmp_path).judged().scenarios

    assert (scenario.verdict, scenario.reasons) == ("unknown", ("the service did not come back",))


def test_a_damaged_history_is_unknown_by_name_and_the_others_are_judged(
    tell: type["Tale"], tmp_path: Path
) -> None:
    damaged = on_disk(right(tell("ord-1", scenario="a")), tmp_path / "a.jsonl")
    damaged.write_text(damaged.read_text().replace('"i":3', '"i":4', 1))
    on_disk(doubled(tell("ord-1", scenario="b"), "ord-1"), tmp_path / "b.jsonl")
    run = in_(tmp_path)

    a, b = run.judged().scenarios

    assert (a.verdict, b.verdict) == ("unknown", "violated")
    assert "a.jsonl, line 5: record 4 where 3 belongs" in a.reasons[0]
    assert run.records("a") == ()


def test_what_did_not_apply_does_not_apply_again(tell: type["Tale"], tmp_path: Path) -> None:
    manifest(tmp_path, scenarios=["a", "b"], lacking={"b": ["webhooks"]})
    on_disk(right(tell("ord-1", scenario="a")), tmp_path / "a.jsonl")

    verdict = in_(tmp_path).judged()

    assert (verdict.verdict, verdict.interrupted) == ("holds", None)
    assert verdict.not_applicable[0] == ("scenario", "b", ("webhooks",))


def test_a_run_that_ended_with_its_control_is_unknown(tell: type["Tale"], tmp_path: Path) -> None:
    manifest(tmp_path, scenarios=["a"])
    on_disk(right(tell("ord-1", announced=False)), tmp_path / "control.jsonl")

    verdict = in_(tmp_path).judged()

    assert (verdict.verdict, verdict.scenarios) == ("unknown", ())
    assert verdict.interrupted == "cut short before a"


def test_segments_of_load_drivers_are_put_in_order(tell: type["Tale"], tmp_path: Path) -> None:
    whole = right(tell("ord-1", scenario="a"))
    told = [record for record in whole.records if record.lane.startswith("client")]
    rest = [record for record in whole.records if record not in told]
    folder = tmp_path / "segments"
    folder.mkdir()
    for path, records in ((tmp_path / "a.jsonl", rest), (folder / "driver.jsonl", told)):
        own = {record.index: place for place, record in enumerate(records)}
        tale = tell(announced=False)
        for record in records:
            cause = own.get(-1 if record.cause is None else record.cause)
            moved = replace(record, index=own[record.index], cause=cause)
            tale.recorder.records.append(moved)
        on_disk(tale, path)

    [scenario] = in_(tmp_path).judged().scenarios

    assert (scenario.verdict, scenario.orders, scenario.charges) == ("holds", 1, 1)


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"scenarios": 3, "lacking": [], "seed": "x"}'])
def test_a_manifest_that_says_nothing_is_no_obstacle(
    tell: type["Tale"], tmp_path: Path, torn: str
) -> None:
    (tmp_path / "run.json").write_text(torn)
    on_disk(right(tell("ord-1", scenario="a")), tmp_path / "a.jsonl")
    run = in_(tmp_path)

    assert run.judged().verdict == "holds"
    assert (run.service, run.seed) == (tmp_path.name, None)


def test_a_run_goes_by_its_folder_its_name_or_as_the_newest(tmp_path: Path) -> None:
    for name in ("20260101-000000-1", "20260102-000000-1"):
        manifest(tmp_path / name)
    (tmp_path / "20260103-000000-1").mkdir()  # of a run that never began
    newest, older = tmp_path / "20260102-000000-1", tmp_path / "20260101-000000-1"

    assert stored_run(None, tmp_path).folder == newest
    assert stored_run("20260101-000000-1", tmp_path).folder == older
    assert stored_run(str(older), tmp_path / "elsewhere").folder == older


def test_what_is_no_run_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "verdict.json"
    file.write_text("{}")

    for named, says in (
        (str(tmp_path), "this is no run of onecharge: it has neither run.json nor a history"),
        (str(file), "this is a file, not a run's folder"),
        ("20260101-000000-1", "no such run; expected a folder, or the name of one in"),
        (None, "there is no run yet; `onecharge verify` makes one"),
    ):
        with pytest.raises(NotARun) as refused:
            stored_run(named, tmp_path)
        assert says in str(refused.value)
        assert named is None or str(refused.value).startswith(named)
