"""What an exploration tells of itself: what was covered, what was discovered, and on how many runs.

Rule 1: the verdict comes from the histories alone, as everywhere. This is what is said beside it.
Rule 2: it lies in the run's folder as ``explored.json``, so that every later report says the same.
Rule 3: a part that was not explored as planned has a doubt, and the run is *unknown*.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from onecharge.history.judgement import Verdict
from simulator.redaction import without_secrets

EXPLORED: Final = "explored.json"

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Discovery:
    """A violation that was found, made small and repeated.

    ``scenario`` names the history that shows it, ``after`` says how many runs it took to be found,
    and ``seconds`` how long it was, from the first clean control on; ``by_chance`` that nothing
    systematic found it. ``failed`` and ``of`` say how often the smallest schedule showed it again.
    ``steps`` are that schedule in English; ``file`` is where it lies, ``test`` the test that
    repeats it. ``parted`` says where it parts from the nearest schedule that passed, ``pinned``
    what came of it that the order of its events is pinned, if it is, and ``minimal`` whether
    everything simpler was tried. Without ``steps`` there is no schedule that shows it by itself:
    only the history of a whole batch does.
    """

    kind: str
    scenario: str
    after: int
    failed: int
    of: int
    steps: tuple[str, ...]
    repeat: str
    file: str = ""
    test: str = ""
    parted: str = ""
    pinned: str = ""
    seconds: float = 0.0
    by_chance: bool = False
    minimal: bool = True

    @property
    def in_words(self) -> str:
        """Say how sure it is, and how it was come by."""
        again = f"came back in {self.failed} of {self.of} repeats"
        if not self.failed:
            again += " by itself: other runs of its batch had a part in it"
        found = f"found after {self.after} schedule(s)" if self.after else ""
        found += " by chance" * self.by_chance
        doubt = "" if self.minimal else "there may be a smaller one: the time for it was over"
        return " · ".join(filter(None, (again, found, self.pinned, doubt)))


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an exploration, a scope or a level: ``says`` is what was covered of it.

    ``complete`` says whether all of it was executed, ``why_not`` why it does not apply, ``doubt``
    why nothing can be said of it although it was run.
    """

    name: str
    what: str
    runs: int = 0
    complete: bool = False
    says: tuple[str, ...] = ()
    why_not: str = ""
    doubt: str = ""
    found: Discovery | None = None

    @property
    def verdict(self) -> Verdict:
        """What it comes to, as far as it was explored; what never ran does not speak."""
        if self.found is not None:
            return "violated"
        if self.doubt:
            return "unknown"
        return "holds" if self.runs else "not_applicable"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything that is said of it."""
        return (*self.says, *filter(None, (self.why_not, self.doubt)))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Part":
        """Return what ``to_json`` wrote; ``KeyError`` or ``TypeError`` if it is nothing of ours."""
        found = data["found"]
        return cls(
            name=str(data["name"]),
            what=str(data["what"]),
            runs=int(data["runs"]),
            complete=bool(data["complete"]),
            says=tuple(map(str, data["says"])),
            why_not=str(data["why_not"]),
            doubt=str(data["doubt"]),
            found=found and Discovery(**{**found, "steps": tuple(map(str, found["steps"]))}),
        )


class Listener(Protocol):
    """Who hears how an exploration is getting on."""

    def step(self, says: str) -> None:
        """Hear of one thing that is ready."""

    def playing(self, name: str) -> AbstractContextManager[object]:
        """Hear that something is being run, as long as the context lasts."""

    def explored(self, part: Part) -> None:
        """Hear what was covered of a part."""


class Parts:
    """What is told of an exploration so far: heard at once, and written to the run's folder."""

    def __init__(self, folder: Path, listener: Listener, *, clock: Clock = time.monotonic) -> None:
        self.all: list[Part] = []
        self.folder = folder
        self.listener = listener
        self._clock = clock
        self._began_s: float | None = None

    def begin(self) -> None:
        """Note that a clean control has passed: seconds are counted from the first one on."""
        if self._began_s is None:
            self._began_s = self._clock()

    @property
    def seconds(self) -> float:
        """For how long there was exploring so far."""
        return 0.0 if self._began_s is None else round(self._clock() - self._began_s, 3)

    @property
    def found(self) -> bool:
        """Whether there is a violation already."""
        return any(part.found for part in self.all)

    def add(self, part: Part) -> None:
        """Tell of one more."""
        self.all.append(part)
        self.listener.explored(part)
        write_parts(self.folder, self.all)

    def add_unexplored(self, name: str, what: str) -> None:
        """Tell of one that was not begun."""
        self.add(unexplored(name, what, found=self.found))


def write_parts(folder: Path, parts: Sequence[Part]) -> None:
    """Write down what an exploration tells of itself."""
    text = json.dumps(without_secrets([part.to_json() for part in parts]), indent=2)
    (folder / EXPLORED).write_text(text + "\n", encoding="utf-8")


def unexplored(name: str, what: str, *, found: bool) -> Part:
    """Return a part that was not begun: something is ``found`` already, or the time is up."""
    why = "there is a violation to be mended first" if found else "there was no time left"
    return Part(name, what, says=(f"not explored: {why}",))


def parts_in(folder: Path) -> tuple[Part, ...]:
    """Return what an exploration told of itself; nothing where there was none, or it was torn."""
    try:
        told = json.loads((folder / EXPLORED).read_text(encoding="utf-8"))
        return tuple(Part.from_json(each) for each in told)
    except (OSError, ValueError, TypeError, KeyError):
        return ()
