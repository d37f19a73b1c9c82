"""Several scenarios at once: each record goes to the history of the one that it is about."""

from pathlib import Path
from typing import Any

import pytest

from onecharge.history.reading import read_history
from onecharge.history.recorder import Recorder
from onecharge.world.histories import Histories
from simulator.core.journal import Entry

A, B = "ord-a-1", "ord-b-1"


@pytest.fixture
def histories(tmp_path: Path) -> Histories:
    return Histories(tmp_path)


@pytest.fixture
def both(histories: Histories) -> dict[str, Recorder]:
    return histories.begin_for({"first": "ord-a", "second": "ord-b"})


def call(name: str, order: str | None = None, **value: Any) -> Entry:
    return Entry("provider", "receive", {"what": "call", "call": name, **value}, order)


def whats(recorder: Recorder) -> list[str]:
    return [record.what for record in recorder.records]


def test_an_order_says_whose_a_record_is(histories: Histories, both: dict[str, Recorder]) -> None:
    histories(call("call-1", A))
    histories(call("call-2", B))

    assert [r.value["call"] for r in both["first"].records] == ["call-1"]
    assert [r.value["call"] for r in both["second"].records] == ["call-2"]


def test_what_follows_from_a_call_goes_where_the_call_went(
    histories: Histories, both: dict[str, Recorder]
) -> None:
    histories(call("call-1", B))
    cause = histories(call("call-2", A))
    effect = {"what": "charge.captured", "call": "call-2", "charge": "ch_1"}
    histories(Entry("provider", "effect", effect, cause=cause))
    histories(
        Entry("provider", "effect", {"what": "event.created", "event": "e", "charge": "ch_1"})
    )

    assert whats(both["first"]) == ["call", "charge.captured", "event.created"]
    assert both["first"].records[1].cause == both["first"].records[0].index


def test_what_names_no_order_is_kept_apart_while_several_are_on(
    histories: Histories, both: dict[str, Recorder]
) -> None:
    histories(call("call-1"))
    histories(call("call-2", "an order of the service's own"))

    assert whats(both["first"]) == whats(both["second"]) == []
    assert whats(histories.apart) == ["call", "call"]


def test_what_names_no_order_belongs_to_the_only_one_that_is_on(histories: Histories) -> None:
    only = histories.begin_for({"only": "ord-a"})["only"]

    histories(call("call-1"))

    assert only is histories.apart
    assert whats(only) == ["call"]


def test_a_process_that_dies_does_so_for_everybody(
    histories: Histories, both: dict[str, Recorder]
) -> None:
    histories(Entry("process:service-1", "crash", {"what": "process"}))

    assert whats(both["first"]) == whats(both["second"]) == ["process"]


def test_what_comes_late_goes_where_its_order_is_known(
    histories: Histories, both: dict[str, Recorder]
) -> None:
    later = histories.begin_for({"later": "ord-c"})["later"]

    histories(call("call-1", A))

    assert whats(later) == []
    assert whats(both["first"]) == ["call"]


def test_a_history_begun_for_everything_takes_everything(
    histories: Histories, both: dict[str, Recorder]
) -> None:
    alone = histories.begin("control")

    histories(call("call-1", A))

    assert whats(both["first"]) == []
    assert whats(alone) == ["call"]


@pytest.mark.parametrize("for_everything", [True, False])
def test_an_attempt_that_ends_late_ends_where_it_began(
    histories: Histories, *, for_everything: bool
) -> None:
    control = histories.begin("control")
    attempt = {"what": "attempt", "attempt": "att-1", "event": "evt_1"}
    cause = histories(Entry("webhook", "send", attempt))
    if for_everything:
        only = histories.begin("only")
    else:
        only = histories.begin_for({"only": "ord-a"})["only"]

    histories(Entry("webhook", "ok", attempt, cause=cause))

    assert whats(only) == []
    assert [record.kind for record in control.records] == ["send", "ok"]


def test_what_is_written_together_is_in_every_file_it_concerns_when_the_block_ends(
    histories: Histories, both: dict[str, Recorder], tmp_path: Path
) -> None:
    with histories.together():
        histories(call("call-1", A))
        histories(call("call-2", B))
        assert read_history(tmp_path / "first.jsonl") == []

    assert read_history(tmp_path / "first.jsonl") == both["first"].records
    assert read_history(tmp_path / "second.jsonl") == both["second"].records


def test_files_are_closed_and_what_still_arrives_is_kept(
    histories: Histories, both: dict[str, Recorder], tmp_path: Path
) -> None:
    histories.close()

    histories(call("call-1", A))

    assert whats(both["first"]) == ["call"]
    assert read_history(tmp_path / "first.jsonl") == []
