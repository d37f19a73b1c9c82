"""The verdict in Markdown, for the page that a CI service shows beside a build.

Rule 1: short: what to act on, then one row for each scenario.
Rule 2: appended, never written over: other steps of the build have their say in the same file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from onecharge.explored import Discovery
from onecharge.report.findings import (
    Finding,
    doubts,
    findings,
    in_words,
    outcomes_in_words,
    telling,
)
from onecharge.report.foreign_text import code_in_markdown, in_markdown
from onecharge.verdict import RunVerdict, ScenarioVerdict

_MARKS: Final = {"holds": "✅", "violated": "❌", "unknown": "❔", "not_applicable": "⚪"}
_FINDINGS: Final = 3
_EVIDENCE: Final = 4
_DOUBTS: Final = 5
_ROWS: Final = 200  # what shows a summary has a limit, and a reader as well


def summary_text(run: RunVerdict, service: str) -> str:
    """Return the verdict as Markdown."""
    return "\n".join(_lines(run, service)) + "\n"


def append_summary(text: str, path: Path) -> None:
    """Add a summary to the file; ``OSError`` if it cannot be written."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _lines(run: RunVerdict, service: str) -> Iterator[str]:
    yield f"## {_MARKS[run.verdict]} onecharge: {in_markdown(service)}: {run.verdict}"
    yield ""
    yield f"**{in_markdown(in_words(run))}**"
    found = findings(run)
    for finding in found[:_FINDINGS]:
        yield from _finding(finding, run.discovery(finding.scenario.name, finding.invariant))
    if more := len(found[_FINDINGS:]):
        yield from ("", f"… and {more} more finding(s): the report has them all.")
    yield from _doubts(run)
    if outcomes := outcomes_in_words(run):
        yield from ("", f"Unknown outcomes: {outcomes}")
    yield from _explored(run)
    yield from _table(run)


def _finding(finding: Finding, discovery: Discovery | None) -> Iterator[str]:
    first = finding.first
    name = f"{in_markdown(finding.invariant)} in {in_markdown(finding.scenario.name)}"
    more = f" (and {finding.more} more like it)" if finding.more else ""
    yield from ("", f"### {name}", "", f"{in_markdown(first.says)}{more}", "")
    for piece in telling(first.evidence, _EVIDENCE):
        yield f"- {piece.side} &#35;{piece.index}: {in_markdown(piece.says)}"
    yield f"- **open**: {in_markdown(str(first.boundary))}: {in_markdown(first.cause)}"
    yield f"- **usual guard**: {in_markdown(first.guard)}"
    yield from ("", code_in_markdown(finding.scenario.repeat))
    if discovery is not None:
        yield from ("", f"It {in_markdown(discovery.in_words)}:", "")
        for number, step in enumerate(discovery.steps, start=1):
            yield f"{number}. {in_markdown(step)}"
        if discovery.parted:
            yield from ("", f"Where it parts from one that passed: {in_markdown(discovery.parted)}")


def _explored(run: RunVerdict) -> Iterator[str]:
    if run.parts:
        yield from ("", "### What was explored", "")
    for part in run.parts:
        says = in_markdown("; ".join(part.sentences))
        yield f"- {_MARKS[part.verdict]} {in_markdown(part.name)}: {says}"


def _doubts(run: RunVerdict) -> Iterator[str]:
    unsure = doubts(run)
    if unsure:
        yield from ("", "### What stayed unknown", "")
    for doubt in unsure[:_DOUBTS]:
        yield f"- {in_markdown(doubt.says)}"
    if more := len(unsure[_DOUBTS:]):
        yield f"- … {more} more"


def _table(run: RunVerdict) -> Iterator[str]:
    yield from ("", "| scenario | verdict | orders | real charges | faults fired |")
    yield "| --- | --- | ---: | ---: | ---: |"
    for row in run.scenarios[:_ROWS]:
        name = in_markdown(row.name)
        yield f"| {name} | {_verdict(row)} | {row.orders} | {row.charges} | {row.fired} |"
    if more := len(run.scenarios[_ROWS:]):
        yield f"| … {more} more | | | | |"


def _verdict(row: ScenarioVerdict) -> str:
    words = f"{_MARKS[row.verdict]} {row.verdict.replace('_', ' ')}"
    return words if row.fair else f"{words} (unfair: {len(row.exposure)} exposed)"
