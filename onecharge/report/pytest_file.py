"""A test for somebody's own suite: red while a counterexample still shows, green when mended."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from onecharge.report.foreign_text import visible

TEST_FILE: Final = "test_counterexample.py"

_TEMPLATES: Final = Path(__file__).parent / "templates"
_NO_NAME = re.compile(r"\W+")


def pytest_text(
    *, title: str, steps: Sequence[str], says: str, file: str, words: Sequence[str] = ()
) -> str:
    """Return a test that repeats ``file``, which lies beside it.

    ``title`` says what is violated, ``says`` how sure that is, ``steps`` the schedule; ``words``
    are what the command needs beside the file.
    """
    return (
        _environment()
        .get_template(f"{TEST_FILE}.jinja")
        .render(
            title=_quoted(title),
            name=_NO_NAME.sub("_", visible(title)).strip("_").lower(),
            says=_quoted(says),
            steps=tuple(map(_quoted, steps)),
            file=_quoted(file),
            words="".join(f', "{_quoted(word)}"' for word in words),
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  it is Python, and no page; see ``_quoted``
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _quoted(text: str) -> str:
    """Return a text that ends no string of Python, whatever a service put into a name."""
    return visible(text).replace("\\", "\\\\").replace('"', "'")
