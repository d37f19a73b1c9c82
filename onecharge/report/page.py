"""What the page says, as plain data: a verdict and its histories in, texts and diagrams out.

Rule 1: nothing here knows HTML; nothing in the template decides anything.
Rule 2: a few findings are told in full, each with its story; the others are named.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from onecharge.explaining.explanation import Argument, explained
from onecharge.explored import Part
from onecharge.history.assembly import case_of
from onecharge.history.buckets import Bucket
from onecharge.history.case import Case
from onecharge.history.judgement import GUARDS, Evidence, Verdict, Violation, money
from onecharge.history.records import Record
from onecharge.invariants import invariants
from onecharge.report.diagram import Diagram, diagram_of
from onecharge.report.findings import (
    Finding,
    at_risk,
    doubts,
    findings,
    in_words,
    unknown_outcomes,
)
from onecharge.verdict import RunVerdict, ScenarioVerdict

Reader = Callable[[str], Sequence[Record]]
"""Returns the records of a scenario, none if they cannot be read any more."""

_IN_FULL: Final = 5
_NAMED: Final = 50
_NOTES: Final = 20

BUCKET_MEANINGS: Final[dict[Bucket, str]] = {
    "recovered": "charged once, and known to be",
    "void": "never charged, and known not to be",
    "lost": "believed to be the opposite of what happened",
    "stuck": "nothing definite is known",
    "duplicated": "charged more than once",
}


@dataclass(frozen=True, slots=True)
class About:
    """What was run, as the page's head says it."""

    service: str
    seed: int | None = None
    began: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """One finding in full."""

    invariant: str
    scenario: str
    says: str
    more: int
    at_risk: str
    repeat: str
    boundary: str
    cause: str
    guard: str
    argument: Argument
    evidence: tuple[Evidence, ...]
    diagram: Diagram | None
    again: str = ""
    """How sure it is, where the explorer found it, and by which ``schedule``."""
    schedule: tuple[str, ...] = ()
    parted: str = ""
    drawn_at: int | None = None
    """The finding, counted from 1, that shows the same story already."""


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario: what it reached, and what it did not."""

    name: str
    verdict: Verdict
    fair: bool
    orders: int
    charges: int
    fired: int
    exposed: int
    not_reached: tuple[str, ...]
    lacking: tuple[str, ...]
    tied_by: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class InvariantRow:
    """One claim, and how it fared over all scenarios that count."""

    name: str
    claim: str
    verdict: Verdict
    violations: int
    judged: int


@dataclass(frozen=True, slots=True)
class BucketRow:
    """How many unknown outcomes ended in this way."""

    name: Bucket
    means: str
    count: int


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the page shows."""

    about: About
    verdict: Verdict
    headline: str
    at_risk: str
    findings: tuple[Told, ...]
    others: tuple[str, ...]
    unnamed: int
    doubts: tuple[str, ...]
    repeat: str
    buckets: tuple[BucketRow, ...]
    scenarios: tuple[ScenarioRow, ...]
    invariants: tuple[InvariantRow, ...]
    advice: tuple[str, ...]
    exposure: tuple[str, ...]
    not_applicable: tuple[str, ...]
    explored: tuple[Part, ...] = ()
    boundaries: tuple[str, ...] = tuple(GUARDS)


def page_of(run: RunVerdict, about: About, read: Reader) -> Page:
    """Return the page on a run; ``read`` is asked only for the stories that are told in full."""
    found = findings(run)
    named = found[_IN_FULL : _IN_FULL + _NAMED]
    unsure = doubts(run)
    return Page(
        about=about,
        verdict=run.verdict,
        headline=in_words(run),
        at_risk=at_risk(run),
        findings=tuple(_in_full(run, found[:_IN_FULL], read)),
        others=tuple(f"{f.invariant} · {f.scenario.name}: {f.first.says}" for f in named),
        unnamed=len(found) - len(found[:_IN_FULL]) - len(named),
        doubts=tuple(_cut([doubt.says for doubt in unsure])),
        repeat=unsure[0].repeat if unsure and not found else "",
        buckets=tuple(
            BucketRow(name, BUCKET_MEANINGS[name], count)
            for name, count in unknown_outcomes(run).items()
        ),
        scenarios=tuple(_scenario(scenario) for scenario in run.scenarios),
        invariants=tuple(_invariants(run)),
        advice=tuple(_cut([f"{s.name}: {says}" for s in run.scenarios for says in s.advice])),
        exposure=tuple(_cut([f"{s.name}: {v.says}" for s in run.scenarios for v in s.exposure])),
        not_applicable=tuple(
            f"{name} (without {', '.join(without)})" for _, name, without in run.not_applicable
        ),
        explored=run.parts,
    )


def _in_full(run: RunVerdict, found: Sequence[Finding], read: Reader) -> Iterator[Told]:
    cases: dict[str, tuple[Case, Sequence[Record]]] = {}
    drawn: dict[tuple[str, str | None], int] = {}
    for number, finding in enumerate(found, start=1):
        name, first = finding.scenario.name, finding.first
        if name not in cases:
            records = read(name)
            cases[name] = case_of(records), records
        case, records = cases[name]
        why = explained(case, finding.invariant, first, records=records)
        discovery = run.discovery(name, finding.invariant)
        shown_at = drawn.setdefault((name, first.order), number)
        yield Told(
            invariant=finding.invariant,
            scenario=name,
            says=first.says,
            more=finding.more,
            at_risk=money(first.at_risk_minor, first.currency) if first.at_risk_minor else "",
            repeat=finding.scenario.repeat,
            boundary=str(why.boundary),
            cause=why.likely,
            guard=why.guard,
            argument=why.argument,
            evidence=first.evidence,
            diagram=_story(first, case, records) if shown_at == number else None,
            again=discovery.in_words if discovery else "",
            schedule=discovery.steps if discovery else (),
            parted=discovery.parted if discovery else "",
            drawn_at=shown_at if first.order and shown_at != number else None,
        )


def _story(violation: Violation, case: Case, records: Sequence[Record]) -> Diagram | None:
    return diagram_of(case, records, violation.order, {piece.index for piece in violation.evidence})


def _scenario(scenario: ScenarioVerdict) -> ScenarioRow:
    return ScenarioRow(
        name=scenario.name,
        verdict=scenario.verdict,
        fair=scenario.fair,
        orders=scenario.orders,
        charges=scenario.charges,
        fired=scenario.fired,
        exposed=len(scenario.exposure),
        not_reached=scenario.not_reached,
        lacking=scenario.lacking,
        tied_by=", ".join(f"{rule} {count}" for rule, count in scenario.ties.items()),
        duration_s=scenario.duration_s,
    )


def _invariants(run: RunVerdict) -> Iterator[InvariantRow]:
    for invariant in invariants():
        verdicts = [
            one
            for scenario in run.scenarios
            if scenario.fair
            for one in scenario.invariants
            if one.name == invariant.name and one.counts
        ]
        ranked = {one.verdict for one in verdicts}
        none: Verdict = "unknown" if invariant.name in run.not_exercised else "not_applicable"
        worst = next((verdict for verdict in _WORST_FIRST if verdict in ranked), none)
        yield InvariantRow(
            name=invariant.name,
            claim=invariant.claim,
            verdict=worst,
            violations=sum(len(one.judgement.violations) for one in verdicts),
            judged=sum(one.verdict in {"holds", "violated"} for one in verdicts),
        )


_WORST_FIRST: Final[tuple[Verdict, ...]] = ("violated", "unknown", "holds")


def _cut(notes: Sequence[str]) -> Iterator[str]:
    yield from notes[:_NOTES]
    if more := len(notes[_NOTES:]):
        yield f"… {more} more"
