"""The recorder keeps everything, and the disk has it before the caller goes on."""

import errno
import itertools
import os
from pathlib import Path

import pytest

from onecharge.history import Record, Recorder, read_history
from simulator.core.journal import Entry


def entry(number: int) -> Entry:
    return Entry("judge", "read", {"what": "belief", "number": number}, order=f"ord-{number}")


def test_a_recorder_in_memory_gives_each_entry_its_place_and_time() -> None:
    recorder = Recorder(clock=itertools.count(100).__next__)

    places = [recorder(entry(1)), recorder(entry(2))]

    assert places == [0, 1]
    assert [record.time_ns for record in recorder.records] == [101, 102]
    assert recorder.last_ns == 102
    assert recorder.lost is None
    assert repr(recorder) == "<Recorder memory: 2 records>"


def test_before_anything_happens_the_last_time_is_the_beginning() -> None:
    assert Recorder(clock=lambda: 7).last_ns == 7


def test_a_record_is_on_disk_when_the_call_returns(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")

    recorder(entry(1))

    assert read_history(tmp_path / "history.jsonl") == recorder.records
    assert repr(recorder) == "<Recorder history.jsonl: 1 records>"
    recorder.close()


def test_what_is_recorded_together_is_one_write_at_the_end_of_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    writes: list[int] = []
    really = os.write

    def watched(file: int, data: memoryview) -> int:
        writes.append(len(data))
        return really(file, data)

    monkeypatch.setattr(os, "write", watched)
    with recorder.together():
        recorder(entry(1))
        with recorder.together():
            recorder(entry(2))
        assert writes == []

    assert len(writes) == 1
    assert read_history(tmp_path / "history.jsonl") == recorder.records
    recorder(entry(3))
    assert read_history(tmp_path / "history.jsonl") == recorder.records
    assert len(recorder.records) == 3
    recorder.close()


def test_a_block_that_fails_has_recorded_what_happened_before(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")

    def fail() -> None:
        with recorder.together():
            recorder(entry(1))
            raise LookupError

    with pytest.raises(LookupError):
        fail()

    assert len(read_history(tmp_path / "history.jsonl")) == 1
    recorder.close()


def test_of_a_block_that_did_not_fit_on_the_disk_the_whole_lines_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    really = os.write
    calls = itertools.count()

    def half_of_it_and_then_full(file: int, data: memoryview) -> int:
        if next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(file, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half_of_it_and_then_full)
    with recorder.together():
        for number in range(1, 6):
            recorder(entry(number))
    recorder.close()

    assert read_history(tmp_path / "history.jsonl") == recorder.records[:2]
    assert recorder.lost is not None
    assert "the last 3 records are not on disk" in recorder.lost


def test_a_history_is_never_overwritten(tmp_path: Path) -> None:
    Recorder(tmp_path / "history.jsonl").close()

    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "history.jsonl")


def test_a_subscriber_hears_of_records_until_it_stops() -> None:
    recorder = Recorder()
    heard: list[Record] = []
    stop = recorder.subscribe(heard.append)

    recorder(entry(1))
    stop()
    recorder(entry(2))

    assert heard == recorder.records[:1]


def test_a_subscriber_may_write_a_record_of_its_own() -> None:
    recorder = Recorder()

    def answer(record: Record) -> None:
        if record.index == 0:
            recorder(entry(9))

    recorder.subscribe(answer)
    recorder(entry(1))

    assert [record.order for record in recorder.records] == ["ord-1", "ord-9"]


def test_after_closing_entries_are_still_kept_in_memory(tmp_path: Path) -> None:
    with Recorder(tmp_path / "history.jsonl") as recorder:
        recorder(entry(1))
    recorder.close()
    recorder(entry(2))

    assert len(recorder.records) == 2
    assert len(read_history(tmp_path / "history.jsonl")) == 1


def test_a_full_disk_loses_the_file_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    recorder(entry(1))
    really = os.write

    def half_a_line_and_then_full(file: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(file, data[: len(data) // 2])

    with monkeypatch.context() as disk:
        disk.setattr(os, "write", half_a_line_and_then_full)
        recorder(entry(2))
    recorder(entry(3))  # there is space again: too late, the file must have no hole
    recorder.close()

    assert len(recorder.records) == 3
    assert recorder.lost is not None
    assert "No space left on device; the last 2 records are not on disk" in recorder.lost
    assert read_history(tmp_path / "history.jsonl") == recorder.records[:1]


def test_what_is_no_json_is_a_bug_that_shows_at_once() -> None:
    recorder = Recorder()

    with pytest.raises(TypeError):
        recorder(Entry("judge", "read", {"what": object()}))

    assert recorder.records == []


@pytest.mark.parametrize("secret", ["sk_live" + "_4eC39HqLyjWDarjtT1zdp7dc", "4539578763621486"])
def test_a_secret_gets_neither_to_the_disk_nor_to_the_judge(tmp_path: Path, secret: str) -> None:
    recorder = Recorder(tmp_path / "history.jsonl")
    value = {"what": "call", "note": secret, "body": [f"it is {secret}"], "amount_minor": 7}

    recorder(Entry("provider", "receive", value, order=secret, tenant=secret, key=secret))

    (record,) = recorder.records
    removed = record.value["note"]
    assert removed.endswith(" removed]")
    assert record.value == {**value, "note": removed, "body": [f"it is {removed}"]}
    assert (record.order, record.tenant, record.key) == (removed, removed, removed)
    assert secret not in (tmp_path / "history.jsonl").read_text()
    assert read_history(tmp_path / "history.jsonl") == recorder.records
    recorder.close()


def test_how_long_nothing_has_happened_is_told_by_its_clock() -> None:
    recorder = Recorder(clock=iter([0, 2_000_000_000, 2_000_000_000]).__next__)

    assert recorder.silent_for(2.0)
    assert not recorder.silent_for(2.5)
