"""A history read back: whole, torn, damaged, newer, and in several segments."""

import json
from pathlib import Path

import pytest

from onecharge.history import (
    HistoryError,
    Record,
    Recorder,
    Segment,
    merge,
    read_history,
    read_segment,
    runs,
    stream,
)
from simulator.core.journal import Entry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    with Recorder(path) as recorder:
        for number in range(4):
            recorder(Entry("judge", "read", {"what": "belief"}, order=f"ord-{number}"))
    return path


def test_a_file_cut_off_anywhere_is_a_shorter_history(path: Path) -> None:
    whole, full = path.read_bytes(), read_history(path)

    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        part = read_history(path)
        assert part == full[: len(part)]
        assert len(part) == max(0, whole[:length].count(b"\n") - 1)


def test_damage_in_the_middle_names_the_file_and_the_line(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2][:10]
    path.write_bytes(b"\n".join(lines))

    with pytest.raises(HistoryError, match=r"history\.jsonl, line 3: damaged"):
        read_history(path)


def test_bytes_that_are_no_text_are_damage_too(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[2] = b"\xff\xfe\x00"
    path.write_bytes(b"\n".join(lines))

    with pytest.raises(HistoryError, match="line 3: damaged"):
        read_history(path)


@pytest.mark.parametrize("line", [b"", b"{} {}"])
def test_a_line_is_one_record(path: Path, line: bytes) -> None:
    lines = path.read_bytes().split(b"\n")
    lines[2:2] = [line]
    path.write_bytes(b"\n".join(lines))

    with pytest.raises(HistoryError, match="line 3: damaged"):
        read_history(path)


def test_damage_far_down_is_named_as_well_and_what_is_before_it_is_read(tmp_path: Path) -> None:
    path, says = tmp_path / "long.jsonl", "x" * 1_000
    with Recorder(path) as recorder:
        for _ in range(2_000):
            recorder(Entry("judge", "read", {"what": "belief", "says": says}))
    lines = path.read_bytes().split(b"\n")
    lines[1_500] = lines[1_500][:-1]
    path.write_bytes(b"\n".join(lines))

    read: list[Record] = []
    with pytest.raises(HistoryError, match="line 1501: damaged"):
        read.extend(stream(path))
    assert [record.index for record in read] == list(range(1_499))


def test_a_missing_line_is_noticed(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[:2] + lines[3:]))

    with pytest.raises(HistoryError, match="line 3: record 2 where 1 belongs"):
        read_history(path)


def test_a_newer_version_is_refused(path: Path) -> None:
    path.write_text('{"onecharge_history": 2}\n')

    with pytest.raises(HistoryError, match="version 2 was written by a newer onecharge"):
        read_history(path)


@pytest.mark.parametrize(
    "text", ["hello", "hello\n", "{}\n", "[]\n", '{"onecharge_history": "x"}\n']
)
def test_another_file_is_not_taken_for_a_history(path: Path, text: str) -> None:
    path.write_text(text)

    with pytest.raises(HistoryError, match="this is no history of onecharge"):
        read_history(path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="No such file"):
        read_history(tmp_path / "nothing.jsonl")


def test_a_segment_says_which_host_and_process_wrote_it(path: Path) -> None:
    segment = read_segment(path)
    header = json.loads(path.read_text().splitlines()[0])

    assert (segment.host, segment.pid) == (header["host"], header["pid"])


def at(index: int, time_ns: int, order: str, cause: int | None = None) -> Record:
    return Record(index, time_ns, "judge", "read", {"what": "x"}, order=order, cause=cause)


def test_segments_of_one_host_are_merged_by_time_and_causes_follow() -> None:
    one = Segment("here", 1, (at(0, 10, "a"), at(1, 30, "b", cause=0)))
    two = Segment("here", 2, (at(0, 20, "c"), at(1, 40, "d", cause=0)))

    merged = merge([one, two, Segment("there", 3, ())])

    assert [(r.index, r.order, r.cause) for r in merged] == [
        (0, "a", None),
        (1, "c", None),
        (2, "b", 0),
        (3, "d", 1),
    ]


def test_segments_of_two_hosts_have_no_common_order_and_say_so() -> None:
    one = Segment("here", 1, (at(0, 9, "a"), at(1, 10, "b", cause=0)))
    two = Segment("there", 1, (at(0, 2, "c"), at(1, 3, "d", cause=0)))

    first, *merged = merge([one, two])

    assert (first.index, first.what, first.value["hosts"]) == (0, "clock", ["here", "there"])
    assert [(r.index, r.order, r.cause) for r in merged] == [
        (1, "a", None),
        (2, "b", 1),
        (3, "c", None),
        (4, "d", 3),
    ]


def test_nothing_at_all_is_merged_to_nothing() -> None:
    assert list(merge([])) == []
    assert list(merge([Segment("here", 1, ())])) == []


def test_a_file_is_read_as_its_records_are_asked_for(path: Path) -> None:
    records = stream(path)

    assert next(records).order == "ord-0"
    assert [record.order for record in records] == ["ord-1", "ord-2", "ord-3"]


def test_a_history_of_several_runs_falls_into_its_runs() -> None:
    begin = {"what": "run"}
    records = [
        Record(0, 0, "process:app", "restart", {"what": "process"}),
        Record(1, 0, "judge", "invoke", begin),
        Record(2, 0, "judge", "read"),
        Record(3, 0, "judge", "invoke", begin),
    ]

    assert [[r.index for r in run] for run in runs(records)] == [[0, 1, 2], [3]]
    assert runs(records[2:3]) == [records[2:3]]
    assert runs([]) == []
