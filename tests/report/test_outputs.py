"""Reports are written where they were asked for, and what cannot be written is said."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onecharge.report.outputs import NoPlace, Outputs
from onecharge.stored_run import StoredRun
from tests.report.conftest import doubled, on_disk, run_of

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def stored(tale: "Tale", folder: Path) -> StoredRun:
    on_disk(tale, folder / "lost_replies.jsonl")
    return StoredRun(folder, {"service": "shop"})


def test_everything_is_written_where_it_was_asked_for(tale: "Tale", tmp_path: Path) -> None:
    json_file, junit_file, html_file, summary_file = files = [
        tmp_path / name for name in ("v.json", "v.xml", "v.html", "v.md")
    ]
    variables = {"GITHUB_STEP_SUMMARY": str(summary_file)}
    outputs = Outputs.asked(json_file, junit_file, html_file, variables)
    doubled(tale, "ord-1")

    troubles = list(outputs.write(run_of(tale), stored(tale, tmp_path)))

    assert troubles == []
    verdict, junit, page, summary = (file.read_text() for file in files)
    assert json.loads(verdict)["verdict"] == "violated"
    assert junit.startswith(
        '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="onecharge shop"'
    )
    assert page.startswith("<!doctype html>")
    assert "What happened to ord-1" in page
    assert summary.startswith("## ❌ onecharge: shop: violated")
    assert {path.suffix for path in tmp_path.iterdir()} == {
        ".json",
        ".xml",
        ".html",
        ".md",
        ".jsonl",
    }


def test_nothing_is_written_where_nothing_was_asked_for(tale: "Tale", tmp_path: Path) -> None:
    outputs = Outputs.asked(None, None, None, {"GITHUB_STEP_SUMMARY": ""})

    assert list(outputs.write(run_of(doubled(tale, "ord-1")), stored(tale, tmp_path))) == []
    assert [path.name for path in tmp_path.iterdir()] == ["lost_replies.jsonl"]


def test_one_that_cannot_be_written_does_not_keep_the_others(tale: "Tale", tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    outputs = Outputs(
        json=gone / "v.json", junit=Path("/dev/full"), html=tmp_path / "v.html", summary=tmp_path
    )
    doubled(tale, "ord-1")

    troubles = list(outputs.write(run_of(tale), stored(tale, tmp_path)))

    assert troubles == [
        f"{gone / 'v.json'}: the verdict cannot be written: No such file or directory",
        "/dev/full: the JUnit report cannot be written: No space left on device",
        f"{tmp_path}: the summary cannot be written: Is a directory",
    ]
    assert (tmp_path / "v.html").exists()


def test_a_place_that_cannot_be_written_to_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(NoPlace, match=r"^--junit: this is a folder: "):
        Outputs.asked(None, tmp_path, None, {})
    with pytest.raises(NoPlace, match=r"^--html: no such folder: .*/gone$"):
        Outputs.asked(None, None, tmp_path / "gone" / "v.html", {})
