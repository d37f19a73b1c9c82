"""The verdict on a terminal: a line for each scenario, then what a person should do next.

Rule 1: the end is short. One finding in full, the others by name; the JSON file has them all.
Rule 2: texts come from foreign services; they are never markup and never escape sequences.
Rule 3: the same words with and without a terminal, with and without colours.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onecharge.history.buckets import BUCKETS
from onecharge.history.judgement import Evidence, Verdict, Violation, money
from onecharge.verdict import RunVerdict, ScenarioVerdict

_MARKS: Final[dict[Verdict, tuple[str, str]]] = {
    "holds": ("✓", "bold green"),
    "violated": ("✗", "bold red"),
    "unknown": ("?", "bold yellow"),
    "not_applicable": ("·", "dim"),
}
_ASCII: Final = str.maketrans({"✓": "+", "✗": "x", "·": "|", "→": "->", "…": "...", "≥": ">="})
_NAME_WIDTH: Final = 34
_EVIDENCE_SHOWN: Final = 4
_FINDINGS_NAMED: Final = 3
_NOTES_SHOWN: Final = 2
_REASONS_SHOWN: Final = 4
_AS_WIDE_AS_IT_GETS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Finding:
    """Violations of one invariant, in one scenario, through one boundary: the first speaks."""

    invariant: str
    rank: int
    scenario: ScenarioVerdict
    violations: tuple[Violation, ...]

    @property
    def weight(self) -> tuple[int, int, int]:
        """What sorts findings: invariants by rank, small scenarios first, then more money.

        What shows with a few orders is quicker to repeat and easier to follow.
        """
        money_at_risk = sum(violation.at_risk_minor for violation in self.violations)
        return self.rank, self.scenario.orders, -money_at_risk


class Terminal:
    """Prints to a console of rich; without one, to standard output."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _standard_output()

    def title(self, service: str, scenarios: int, seed: int) -> None:
        """Print what is about to be judged."""
        self._print(
            ("onecharge ", "bold"), (f"{service} · {scenarios} scenario(s) · seed {seed}", "")
        )

    def step(self, says: str) -> None:
        """Print one thing that is ready."""
        self._print(("· ", "dim"), (says, "dim"))

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table of texts; nothing in it is markup."""
        table = Table(title=title, title_justify="left", box=box.SIMPLE, expand=False)
        for place, header in enumerate(headers):
            # The first column is a name, for people to copy: it stays whole.
            table.add_column(header, no_wrap=place == 0, overflow="fold")
        for row in rows:
            table.add_row(*(self._text((cell, "")) for cell in row))
        self._console.print(table)

    def playing(self, name: str) -> AbstractContextManager[object]:
        """Show that a scenario is being played, where there is somebody to watch."""
        if not self._console.is_terminal:
            return nullcontext()
        return self._console.status(self._text((name, "")))

    def scenario(self, scenario: ScenarioVerdict) -> None:
        """Print the line of a scenario that has been judged."""
        mark, style = _MARKS[scenario.verdict]
        counts = (
            f"{scenario.orders} orders · {scenario.charges} charges · {scenario.fired} faults fired"
        )
        if exposed := len(scenario.exposure):
            counts += f" · {exposed} exposed (unfair: does not count)"
        self._print(
            (f"{mark} ", style),
            (scenario.name.ljust(_NAME_WIDTH), ""),
            (f" {counts}  {scenario.duration_s:.1f} s", "dim"),
        )

    def verdict(self, run: RunVerdict, report: Path | None = None) -> None:
        """Print the verdict on the run, and what to do about it."""
        mark, style = _MARKS[run.verdict]
        self._print()
        self._print((f"{mark} {run.verdict}", style), (f": {_in_words(run)}", "bold"))
        findings = _findings(run)
        for finding in findings[:1]:
            self._finding(finding)
        for finding in findings[1 : 1 + _FINDINGS_NAMED]:
            self._also(finding)
        if more := len(findings[1 + _FINDINGS_NAMED :]):
            self._print((f"also {more} more finding(s); the JSON report has them all", "dim"))
        self._reasons(run)
        self._notes("advice", [f"{s.name}: {says}" for s in run.scenarios for says in s.advice])
        self._notes("exposure", [f"{s.name}: {v.says}" for s in run.scenarios for v in s.exposure])
        self._notes(
            "not applicable",
            [f"{name} (without {', '.join(lacking)})" for _, name, lacking in run.not_applicable],
        )
        if report is not None:
            self._print(("report: ", "bold"), (str(report), ""))

    def _finding(self, finding: _Finding) -> None:
        first, more = finding.violations[0], len(finding.violations) - 1
        self._print(
            (finding.invariant, "bold red"),
            (f" · {finding.scenario.name}: {first.says}", ""),
            (f" (and {more} more like it)" if more else "", "dim"),
        )
        for piece in _telling(first.evidence):
            self._print(
                (f"  {piece.side:<9}", "cyan"), (f"#{piece.index} ", "dim"), (piece.says, "")
            )
        self._print(("  open   ", "bold"), (f"{first.boundary}: {first.cause}", ""))
        self._print(("  guard  ", "bold"), (first.guard, ""))
        self._print(("  repeat: ", "bold"), (finding.scenario.repeat, ""))

    def _also(self, finding: _Finding) -> None:
        count = len(finding.violations)
        self._print(
            ("also ", "bold"),
            (finding.invariant, "red"),
            (f" · {finding.scenario.name}: {finding.violations[0].says}", ""),
            (f" (and {count - 1} more)" if count > 1 else "", "dim"),
        )

    def _reasons(self, run: RunVerdict) -> None:
        for reason in run.reasons:
            self._print(("unknown ", "yellow"), (reason, ""))
        reasons = [
            (scenario, reason)
            for scenario in run.scenarios
            for reason in (*_not_reached(scenario), *scenario.reasons)
        ]
        for scenario, reason in reasons[:_REASONS_SHOWN]:
            self._print(("unknown ", "yellow"), (f"{scenario.name}: {reason}", ""))
        if more := len(reasons[_REASONS_SHOWN:]):
            self._print((f"unknown for {more} more reason(s)", "yellow"))
        if run.verdict == "unknown" and reasons:
            self._print(("  repeat: ", "bold"), (reasons[0][0].repeat, ""))

    def _notes(self, name: str, notes: Sequence[str]) -> None:
        for note in notes[:_NOTES_SHOWN]:
            self._print((f"{name} ", "bold"), (note, ""))
        if more := len(notes[_NOTES_SHOWN:]):
            self._print((f"{name} ({more} more)", "dim"))

    def _print(self, *parts: tuple[str, str]) -> None:
        # No wrapping: a command that is cut in two lines cannot be copied.
        self._console.print(self._text(*parts), soft_wrap=True)

    def _text(self, *parts: tuple[str, str]) -> Text:
        ascii_only = self._console.options.ascii_only
        clean = ((_clean(text), style) for text, style in parts)
        return Text.assemble(
            *((_as_ascii(text) if ascii_only else text, style) for text, style in clean)
        )


def _standard_output() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:  # nobody looks on, somebody may search: one line for each row
        console.width = _AS_WIDE_AS_IT_GETS
    return console


def _in_words(run: RunVerdict) -> str:
    match run.verdict:
        case "violated":
            places = {(s.name, v.order) for s in run.scenarios for v in s.violations}
            orders = {place for place in places if place[1] is not None} or places
            risk = " and ".join(money(amount, currency) for currency, amount in run.at_risk.items())
            return f"{risk or 'no money'} at risk in {len(orders)} order(s)"
        case "holds" | "not_applicable":
            return f"{_totals(run)}{_unknowns(run)}"
        case "unknown":
            if run.interrupted:
                return f"{run.interrupted} after {len(run.scenarios)} scenario(s)"
            if all(scenario.lacking for scenario in run.scenarios):
                return "no scenario applies to this service"
            if run.reasons:
                return run.reasons[0]
            unsure = sum(scenario.verdict == "unknown" for scenario in run.scenarios)
            return f"{unsure} of {len(run.scenarios)} scenarios could not be judged"


def _totals(run: RunVerdict) -> str:
    fair = [scenario for scenario in run.scenarios if scenario.fair and not scenario.lacking]
    orders, charges = sum(s.orders for s in fair), sum(s.charges for s in fair)
    return f"{orders} orders in {len(fair)} fair scenarios, {charges} real charges, none twice"


def _unknowns(run: RunVerdict) -> str:
    counts = {
        bucket: sum(s.buckets.get(bucket, 0) for s in run.scenarios if s.fair) for bucket in BUCKETS
    }
    if not sum(counts.values()):
        return ""
    return "; unknown outcomes: " + " · ".join(f"{n} {bucket}" for bucket, n in counts.items() if n)


def _not_reached(scenario: ScenarioVerdict) -> Iterator[str]:
    for rule in scenario.not_reached:
        yield f"the fault {rule} never fired"


def _findings(run: RunVerdict) -> list[_Finding]:
    found = []
    for scenario in run.scenarios:
        if not scenario.fair:
            continue
        for rank, one in enumerate(scenario.invariants):
            violations = sorted(one.judgement.violations, key=_boundary)
            for _, alike in groupby(violations, key=_boundary):
                found.append(_Finding(one.name, rank, scenario, tuple(alike)))
    return sorted(found, key=lambda finding: finding.weight)


def _boundary(violation: Violation) -> str:
    return violation.boundary


def _telling(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return a few pieces that still show every side, in the order of the history."""
    if len(evidence) <= _EVIDENCE_SHOWN:
        return list(evidence)
    firsts = {piece.side: piece for piece in reversed(evidence)}
    rest = [piece for piece in evidence if piece not in firsts.values()]
    rest.sort(key=lambda piece: piece.side != "provider")  # where the money is
    shown = [*firsts.values(), *rest][:_EVIDENCE_SHOWN]
    return sorted(shown, key=lambda piece: piece.index)


def _clean(text: str) -> str:
    """Make what a terminal would obey visible instead."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _as_ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
