"""One level of combinations: its rows, what was played of them, what came about, what was found.

Rule 1: a pair counts once both came about in one row.
Rule 2: a sentence on coverage says what was played and came about, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onecharge.combinations.playing import Judged
from onecharge.combinations.rows import Pair, Place, Row, Space
from onecharge.combinations.values import Call
from onecharge.scenario_file import Scenario
from onecharge.verdict import ScenarioVerdict

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """A combination that breaks the service: which, what of, and after how many rows.

    ``scenario`` is an ordinary one: a file can hold it, and ``onecharge run`` plays it. ``verdict``
    is that on the row when it was found again. ``rivals`` violated the same, in the same playing.
    """

    scenario: Scenario
    kind: str
    after: int
    row: Row
    verdict: ScenarioVerdict
    rivals: tuple[Row, ...] = ()


@dataclass(slots=True)
class Level:
    """What was played of one level, what came about, and what was found, if anything."""

    number: int
    space: Space
    groups: Sequence[Sequence[Row]]
    """Its rows, as they are played together, one group after the other."""
    played: int = 0
    came_about: set[Place] = field(default_factory=set)
    together: set[Pair] = field(default_factory=set)
    in_full: set[Row] = field(default_factory=set)
    """The rows in which everything that they plan came about."""
    calls: dict[Place, frozenset[Call]] = field(default_factory=dict)
    """The calls that were made where only one call was struck, by what struck it."""
    urgent: bool = False
    """Whether there are doubts that its first rows may settle: they are played in any case."""
    cut: bool = False
    """Whether time was up before it began, and only its first rows are played, for the doubts."""
    pending: list[Judged] = field(default_factory=list)
    """What was violated among others, and not alone: it is yet to be repeated."""
    doubts: dict[str, str] = field(default_factory=dict)
    """What is in doubt, by the titles of the rows, and why."""
    found: Found | None = None

    def note(self, judged: Judged) -> None:
        """Count what came about in a row."""
        self.came_about |= judged.places
        self.together |= judged.pairs
        self.in_full |= {judged.row} if judged.whole else set()
        if len(judged.row.places) == 1:
            [place] = judged.row.places
            if self.space.factors[place[0]].name == "call":
                self.calls[place] = judged.calls

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order in which they are played."""
        return [row for group in self.groups for row in group]

    @property
    def complete(self) -> bool:
        """Whether every row was played to an end that leaves no doubt, and nothing was found."""
        played = not self.cut and self.played == len(self.rows)
        return played and not self.doubts and self.found is None

    @property
    def never(self) -> list[str]:
        """The values that came about in no row, though rows with them were played."""
        planned = {place for row in self.rows[: self.played] for place in row.places}
        return [self.space.value(place).name for place in sorted(planned - self.came_about)]

    def sentences(self) -> list[str]:
        """Return what may be said of it, in full sentences without their full stops."""
        said = [self._counted()]
        if self.never:
            said.append(f"never came about: {', '.join(self.never)}")
        if self.doubts:
            shown = "; ".join(f"{row}: {why}" for row, why in list(self.doubts.items())[:_SHOWN])
            said.append(f"{len(self.doubts)} row(s) are in doubt: {shown}")
        return said

    def _counted(self) -> str:
        rows = (
            f"{self.played} of {len(self.rows)} rows played, {len(self.in_full)} exercised in full"
        )
        if self.number == 1:
            wanted = len({place for row in self.rows for place in row.places})
            came = f"{len(self.came_about)} of {wanted} troubles came about"
            return f"level 1, every single trouble: {rows}; {came}"
        if self.cut:
            return f"level 2, every pair of troubles: {rows}; there was no time for the others"
        pairs, excluded = len(self.space.pairs), len(self.space.excluded)
        came = f"{len(self.together)} of {pairs} pairs came about in one row"
        return f"level 2, every pair of troubles: {rows}; {came}; {excluded} pairs are excluded"
