"""What is kept of a finding: its schedule as a file, and beside it the test that repeats it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from onecharge.explored import Discovery
from onecharge.report.pytest_file import TEST_FILE, pytest_text
from onecharge.report.written import write_whole

FILE: Final = "counterexample.toml"


def kept(
    discovery: Discovery, folder: Path, schedule: str, title: str, words: Sequence[str] = ()
) -> Discovery:
    """Write both to a folder, and return the discovery that names them.

    ``schedule`` is the text of the file, which ``onecharge run`` plays with ``words`` behind it.
    """
    path, test = folder / FILE, folder / TEST_FILE
    write_whole(schedule, path)
    repeats = pytest_text(
        title=title, steps=discovery.steps, says=discovery.in_words, file=FILE, words=words
    )
    write_whole(repeats, test)
    return replace(discovery, file=str(path), test=str(test))
