"""``onecharge report``: the exit code is the verdict of today, whatever the run said then."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onecharge.cli import main
from tests.report.conftest import doubled, on_disk, right

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


@dataclass(frozen=True)
class Ended:
    exit_code: object
    out: str
    err: str


Report = Callable[..., Ended]


@pytest.fixture
def report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Report:
    """Run the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def report(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["onecharge", "report", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code, *capsys.readouterr())

    return report


def a_run(name: str, *tales: "Tale", scenarios: tuple[str, ...] = ()) -> Path:
    folder = Path(".onecharge") / "runs" / name
    folder.mkdir(parents=True)
    told = {"seed": 7, "service": "shop", "scenarios": scenarios}
    (folder / "run.json").write_text(json.dumps(told))
    for number, tale in enumerate(tales):
        on_disk(tale, folder / f"s{number}.jsonl")
    return folder


def test_the_newest_run_is_judged_again(report: Report, tell: type["Tale"]) -> None:
    a_run("20260101-000000-1", right(tell("ord-1")))
    newest = a_run("20260102-000000-1", right(tell("ord-1")), doubled(tell("ord-1"), "ord-1"))
    (newest / "verdict.json").write_text('{"verdict": "holds"}')

    ended = report()

    assert (ended.exit_code, ended.err) == (1, "")
    lines = ended.out.splitlines()
    assert lines[0] == "onecharge shop · 2 scenario(s) · seed 7"
    assert [line.split()[:2] for line in lines[1:3]] == [["✓", "s0"], ["✗", "s1"]]
    assert lines[4] == "✗ violated: 5.00 EUR at risk in 1 order(s)"
    assert lines[-1] == f"report: {newest / 'report.html'}"
    assert "What happened to ord-1" in (newest / "report.html").read_text()
    assert (newest / "verdict.json").read_text() == '{"verdict": "holds"}'


def test_a_run_is_named_and_reported_where_one_likes(report: Report, tell: type["Tale"]) -> None:
    folder = a_run("mine", right(tell("ord-1")))

    ended = report("mine", "--json", "v.json", "--junit", "v.xml", "--html", "v.html")

    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(Path("v.json").read_text())["verdict"] == "holds"
    assert "<testsuites" in Path("v.xml").read_text()
    assert Path("v.html").exists()
    assert not (folder / "report.html").exists()
    assert report(str(folder)).exit_code == 0


def test_a_run_cut_short_is_not_green(report: Report, tell: type["Tale"]) -> None:
    a_run("cut", right(tell("ord-1")), scenarios=("s0", "s1"))

    ended = report("cut")

    assert ended.exit_code == 3
    assert "? unknown: cut short before s1 after 1 scenario(s)" in ended.out


def test_a_summary_goes_where_the_ci_service_wants_it(
    report: Report, tell: type["Tale"], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_run("mine", right(tell("ord-1")))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")

    assert report().exit_code == 0
    assert Path("summary.md").read_text().startswith("## ✅ onecharge: shop: holds\n")


def test_a_report_that_cannot_be_written_is_said_and_not_green(
    report: Report, tell: type["Tale"]
) -> None:
    a_run("mine", right(tell("ord-1")))

    ended = report("mine", "--junit", "/dev/full")

    assert ended.exit_code == 3
    assert ended.err == (
        "onecharge: /dev/full: the JUnit report cannot be written: No space left on device\n"
    )


@pytest.mark.parametrize(
    "words,says",
    [
        ((), ".onecharge/runs: there is no run yet; `onecharge verify` makes one"),
        (("nowhere",), "nowhere: no such run; expected a folder, or the name of one in "),
        ((".",), ".: this is no run of onecharge: it has neither run.json nor a history"),
        (("--html", "."), "--html: this is a folder: ."),
    ],
)
def test_what_is_no_run_or_no_place_is_said_in_one_sentence(
    report: Report, tell: type["Tale"], words: tuple[str, ...], says: str
) -> None:
    if words and words[0].startswith("--"):
        a_run("mine", right(tell("ord-1")))

    ended = report(*words)

    assert (ended.exit_code, ended.out) == (2, "")
    assert ended.err.startswith(f"onecharge: {says}")
    assert ended.err.count("\n") == 1
