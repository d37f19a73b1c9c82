"""Every file that tells of a run: where the user asked for them, and in the run's own folder.

Rule 1: that a file cannot be written there is found out before the run, as far as it can be.
Rule 2: one that fails does not keep the others from being written, and nothing that is missing
        is called green: the caller is told.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from onecharge.report.html import page_html
from onecharge.report.json_file import json_text
from onecharge.report.junit import junit_text
from onecharge.report.page import About, page_of
from onecharge.report.summary import append_summary, summary_text
from onecharge.report.written import write_whole
from onecharge.stored_run import StoredRun
from onecharge.verdict import RunVerdict

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


class NoPlace(Exception):
    """A report cannot be written where the user asked for it; the message says why."""


@dataclass(frozen=True)
class Outputs:
    """Where reports go; None: nowhere."""

    json: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    summary: Path | None = None

    @classmethod
    def asked(
        cls,
        json: Path | None,
        junit: Path | None,
        html: Path | None,
        environment: Mapping[str, str],
    ) -> "Outputs":
        """Return what the options and the CI service ask for; ``NoPlace`` if it cannot be had."""
        for option, file in (("--json", json), ("--junit", junit), ("--html", html)):
            if file is not None:
                _check(option, file)
        summary = environment.get(SUMMARY_VARIABLE)
        return cls(json, junit, html, Path(summary) if summary else None)

    def write(self, run: RunVerdict, stored: StoredRun) -> Iterator[str]:
        """Write everything, and yield a sentence for each file that could not be written."""
        for what, file, write in (
            ("the verdict", self.json, lambda file: write_whole(json_text(run), file)),
            ("the JUnit report", self.junit, lambda file: write_whole(_junit(run, stored), file)),
            ("the page", self.html, lambda file: write_whole(_page(run, stored), file)),
            ("the summary", self.summary, lambda file: append_summary(_summary(run, stored), file)),
        ):
            if file is not None and (trouble := _tried(write, file)):
                yield f"{file}: {what} cannot be written: {trouble}"


def _tried(write: Callable[[Path], None], file: Path) -> str | None:
    """Write one file and return what went wrong."""
    try:
        write(file)
    except OSError as error:
        return error.strerror or str(error)
    except Exception as error:  # noqa: BLE001  a bug in a report must not hide the verdict
        return f"our bug: {type(error).__name__}: {error}"
    return None


def _junit(run: RunVerdict, stored: StoredRun) -> str:
    return junit_text(run, stored.service)


def _page(run: RunVerdict, stored: StoredRun) -> str:
    about = About(stored.service, run.seed, stored.began)
    return page_html(page_of(run, about, stored.records))


def _summary(run: RunVerdict, stored: StoredRun) -> str:
    return summary_text(run, stored.service)


def _check(option: str, file: Path) -> None:
    if file.is_dir():
        raise NoPlace(f"{option}: this is a folder: {file}")
    if not file.parent.is_dir():
        raise NoPlace(f"{option}: no such folder: {file.parent}")
