"""Whatever comes to be told of a finding, no report of it shows a live key or somebody's card."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from onecharge.engine.retold import Deviation, Step
from onecharge.engine.stage import SCOPES
from onecharge.explored import EXPLORED, Discovery, Part, write_parts
from onecharge.exploring.counterexample import counterexample_of
from onecharge.report.foreign_text import code_in_markdown, in_markdown, visible
from onecharge.report.json_file import json_text
from onecharge.report.junit import junit_text
from onecharge.report.pytest_file import pytest_text
from onecharge.report.summary import summary_text
from onecharge.targets import reference
from onecharge.verdict import combine
from onecharge.world.logs import redact_logs
from simulator.redaction import found_in

# In pieces, so that nobody's scanner takes it for what it looks like.
SECRET: Final = "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc 4539578763621486"
FOUND: Final = Part(
    "two-requests",
    SECRET,
    says=(SECRET,),
    found=Discovery(SECRET, SECRET, 1, 1, 1, (SECRET,), SECRET, SECRET, SECRET, SECRET),
)
RUN: Final = combine([], seed=1, duration_s=0, interrupted=SECRET, parts=[FOUND])


def written(folder: Path) -> str:
    write_parts(folder, [FOUND])
    return (folder / EXPLORED).read_text()


def logged(folder: Path) -> str:
    log = folder / "service-1.log"
    log.write_bytes(b"\xff began\n" + f"paid by {SECRET}\n".encode() + b"ended")
    redact_logs(folder)
    assert log.read_bytes().startswith(b"\xff began\npaid by [")
    assert log.read_bytes().endswith(b"\nended")
    return log.read_text(errors="replace")


def replayable(folder: Path) -> str:
    return counterexample_of(
        folder / "counterexample.toml",
        [Step(SECRET, (Deviation(2, "release", 1, SECRET, SECRET),))],
        wanted=reference(None),
        scope=SCOPES["two-requests"],
        violates="one_charge_per_key",
        seed=4539578763621486,
        found_after=4,
        failed=20,
        of=20,
    ).text.replace("seed = 4539578763621486\n", "")  # a number that the user chose


SINKS: Final[dict[str, Callable[[Path], str]]] = {
    "terminal": lambda _: visible(SECRET),
    "Markdown": lambda _: in_markdown(SECRET) + code_in_markdown(SECRET),
    "JSON": lambda _: json_text(RUN),
    "JUnit": lambda _: junit_text(RUN, SECRET),
    "summary": lambda _: summary_text(RUN, SECRET),
    "explored.json": written,
    "counterexample.toml": replayable,
    "test for pytest": lambda _: pytest_text(title=SECRET, steps=(SECRET,), says=SECRET, file="x"),
    "log": logged,
}


@pytest.mark.parametrize("name", SINKS)
def test_a_secret_is_shown_nowhere(name: str, tmp_path: Path) -> None:
    text = SINKS[name](tmp_path)

    assert "removed" in text
    assert [text[found.start : found.end] for found in found_in(text)] == []
