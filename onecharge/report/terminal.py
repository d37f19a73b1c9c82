"""The verdict on a terminal: a line for each scenario, then what a person should do next.

Rule 1: the end is short: at most 15 lines, each for somebody to act on. The money first, then one
        finding in full, the others by name; the page and the JSON file have them all. A schedule
        that the explorer found has a few lines more, its steps at most eight.
Rule 2: texts come from foreign services; they are never markup and never escape sequences.
Rule 3: the same words with and without a terminal, with and without colours.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onecharge.explored import Discovery, Part
from onecharge.history.judgement import Verdict
from onecharge.report.findings import (
    Finding,
    doubts,
    findings,
    in_words,
    is_told_by,
    outcomes_in_words,
    telling,
)
from onecharge.report.foreign_text import visible
from onecharge.verdict import RunVerdict, ScenarioVerdict
from onecharge.watch import Seen

_MARKS: Final[dict[Verdict, tuple[str, str]]] = {
    "holds": ("✓", "bold green"),
    "violated": ("✗", "bold red"),
    "unknown": ("?", "bold yellow"),
    "not_applicable": ("·", "dim"),
}
_ASCII: Final = str.maketrans({"✓": "+", "✗": "x", "·": "|", "→": "->", "…": "...", "≥": ">="})
_NAME_WIDTH: Final = 34
_PART_WIDTH: Final = 26
_STEPS_SHOWN: Final = 8
_LINES_OF_SCENARIOS: Final = 15
"""Up to so many scenarios have each a line of its own."""
_NAMES_IN_A_LINE: Final = 4
_EVIDENCE_SHOWN: Final = 4
_ALSO_NAMED: Final = 3
_NOTES_SHOWN: Final = 2
_DOUBTS_SHOWN: Final = 4
_AS_WIDE_AS_IT_GETS: Final = 10_000


class Terminal:
    """Prints to a console of rich; without one, to standard output."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or _standard_output()
        self._many = False
        self._holding: list[str] = []  # hold, and share the line that is to come

    def title(self, service: str, scenarios: int, seed: int | None, explored: int = 0) -> None:
        """Print what is about to be judged: so many scenarios, and so many things explored."""
        self._many = scenarios > _LINES_OF_SCENARIOS
        told = [f"{scenarios} scenario(s)"] if scenarios or not explored else []
        told += [f"{explored} to explore"] if explored else []
        self._print(("onecharge ", "bold"), (f"{service} · {' · '.join(told)} · seed {seed}", ""))

    def step(self, says: str) -> None:
        """Print one thing that is ready."""
        self._print(("· ", "dim"), (says, "dim"))

    def passed(self, says: str) -> None:
        """Print one thing that went well."""
        self._print(("✓ ", "bold green"), (says, ""))

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

    def seen(self, scenario: str, seen: Seen) -> None:
        """Print a violation that was just seen, while its scenario is still being played."""
        self._print_holding()
        mark, style = _MARKS["violated"]
        says = f"{seen.invariant}, seen at record {seen.at}: {seen.violation.says}"
        self._print((f"{mark} ", style), (scenario.ljust(_NAME_WIDTH), ""), (f" {says}", ""))

    def scenario(self, scenario: ScenarioVerdict) -> None:
        """Print the line of a scenario that has been judged.

        Of very many, those that hold share lines: what a person looks for is among the others.
        """
        if self._many and scenario.verdict == "holds" and not scenario.exposure:
            self._holding.append(scenario.name)
            if len(self._holding) == _NAMES_IN_A_LINE:
                self._print_holding()
            return
        self._print_holding()
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

    def _print_holding(self) -> None:
        names, self._holding = self._holding, []
        if names:
            mark, style = _MARKS["holds"]
            self._print((f"{mark} ", style), (" · ".join(names), ""))

    def explored(self, part: Part) -> None:
        """Print what was covered of a part of an exploration, a sentence a line."""
        self._print_holding()
        mark, style = _MARKS[part.verdict]
        first, *more = part.sentences
        self._print((f"{mark} ", style), (part.name.ljust(_PART_WIDTH), ""), (f" {first}", "dim"))
        for says in more:
            self._print(("  ", ""), ("".ljust(_PART_WIDTH), ""), (f" {says}", "dim"))

    def verdict(self, run: RunVerdict, report: Path | None = None) -> None:
        """Print the verdict on the run, and what to do about it, in at most 15 lines."""
        self._print_holding()
        mark, style = _MARKS[run.verdict]
        self._print()
        self._print((f"{mark} {run.verdict}", style), (f": {in_words(run)}", "bold"))
        found = findings(run)
        for finding in found[:1]:
            self._finding(finding, run.discovery(finding.scenario.name, finding.invariant))
        self._also([finding for finding in found[1:] if not is_told_by(run, finding)])
        self._doubts(run, 1 if found else _DOUBTS_SHOWN)
        if outcomes := outcomes_in_words(run):
            self._print(("unknown outcomes: ", "bold"), (outcomes, ""))
        shown = 1 if found else _NOTES_SHOWN
        self._notes(
            "advice", [f"{s.name}: {says}" for s in run.scenarios for says in s.advice], shown
        )
        self._notes(
            "exposure", [f"{s.name}: {v.says}" for s in run.scenarios for v in s.exposure], shown
        )
        if not found:
            self._not_applicable(run)
        if report is not None:
            self._print(("report: ", "bold"), (str(report), ""))

    def _finding(self, finding: Finding, discovery: Discovery | None) -> None:
        first = finding.first
        self._print(
            (finding.invariant, "bold red"),
            (f" · {finding.scenario.name}: {first.says}", ""),
            (f" (and {finding.more} more like it)" if finding.more else "", "dim"),
        )
        for piece in telling(first.evidence, _EVIDENCE_SHOWN):
            self._print(
                (f"  {piece.side:<9}", "cyan"), (f"#{piece.index} ", "dim"), (piece.says, "")
            )
        self._print(("  open     ", "bold"), (f"{first.boundary}: {first.cause}", ""))
        self._print(("  guard    ", "bold"), (first.guard, ""))
        self._print(("  repeat: ", "bold"), (finding.scenario.repeat, ""))
        if discovery is not None:
            self._schedule(discovery)

    def _schedule(self, discovery: Discovery) -> None:
        self._print(("  again    ", "bold"), (discovery.in_words, ""))
        for number, step in enumerate(discovery.steps[:_STEPS_SHOWN], start=1):
            self._print((f"  {number:>6}.  ", "cyan"), (step, ""))
        if discovery.parted:
            self._print(("  parted   ", "bold"), (discovery.parted, ""))

    def _also(self, others: Sequence[Finding]) -> None:
        """Name the other invariants that are violated, and where, in one line."""
        places: dict[str, list[str]] = {}
        for finding in others:
            scenarios = places.setdefault(finding.invariant, [])
            if finding.scenario.name not in scenarios:
                scenarios.append(finding.scenario.name)
        named = [
            f"{name} in {scenarios[0]}" + f" and {len(scenarios) - 1} more" * (len(scenarios) > 1)
            for name, scenarios in places.items()
        ]
        if more := len(named[_ALSO_NAMED:]):
            named[_ALSO_NAMED:] = [f"{more} more"]
        if named:
            self._print(("also violated: ", "bold"), ("; ".join(named), "red"))

    def _doubts(self, run: RunVerdict, shown: int) -> None:
        unsure = doubts(run)
        for place, doubt in enumerate(unsure[:shown], start=1):
            more = len(unsure) - place if place == shown else 0
            self._print(
                ("unknown ", "yellow"),
                (doubt.says, ""),
                (f" (and {more} more)" if more else "", "dim"),
            )
        if run.verdict == "unknown" and unsure:
            self._print(("  repeat: ", "bold"), (unsure[0].repeat, ""))

    def _notes(self, name: str, notes: Sequence[str], shown: int) -> None:
        for place, note in enumerate(notes[:shown], start=1):
            more = len(notes) - place if place == shown else 0
            self._print(
                (f"{name} ", "bold"), (note, ""), (f" (and {more} more)" if more else "", "dim")
            )

    def _not_applicable(self, run: RunVerdict) -> None:
        """Name what does not apply, in one line for each reason."""
        without: dict[tuple[str, ...], list[str]] = {}
        for _, name, lacking in run.not_applicable:
            without.setdefault(lacking, []).append(name)
        self._notes(
            "not applicable",
            [f"without {', '.join(lacking)}: {', '.join(n)}" for lacking, n in without.items()],
            _NOTES_SHOWN,
        )

    def _print(self, *parts: tuple[str, str]) -> None:
        # No wrapping: a command that is cut in two lines cannot be copied.
        self._console.print(self._text(*parts), soft_wrap=True)

    def _text(self, *parts: tuple[str, str]) -> Text:
        ascii_only = self._console.options.ascii_only
        clean = ((visible(text), style) for text, style in parts)
        return Text.assemble(
            *((_as_ascii(text) if ascii_only else text, style) for text, style in clean)
        )


def _standard_output() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:  # nobody looks on, somebody may search: one line for each row
        console.width = _AS_WIDE_AS_IT_GETS
    return console


def _as_ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")
