"""Where a record goes: to the history of the scenario that it is about.

Several scenarios can be on at once, each with orders of its own. Customers and judges write to
the history of their scenario; for what the provider sees it has to be found out whose it is.

Rule 1: what a call brings about goes where the call went, so that the cause of a record is found
        in the same history. Else the order says whose it is, and else the event or the charge.
Rule 2: a history stays open when its scenario is over: a charge that comes late is a charge of
        the order it was made for, and of no other.
Rule 3: what names no order belongs to the one scenario that is on; if several are on, to none
        of them: it is kept in a history apart, and no verdict may overlook it.
Rule 4: a process is everybody's: its starts and ends are written to each history.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from onecharge.history.recorder import Recorder
from onecharge.world.orders import family_of
from simulator.core.journal import Entry

_THINGS: Final = ("call", "event", "charge", "attempt")
"""What a record can be about, by the fields of its value."""

_ENDS: Final = {
    ("provider", "send"): ("call",),
    ("provider", "drop"): ("call",),
    **{("webhook", kind): ("attempt",) for kind in ("ok", "fail", "unknown")},
}
"""What is over with a record."""

_PROCESS: Final = "process:"


class Histories:
    """A sink for what the world does; it holds the histories of a whole run in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apart = Recorder()
        self._on: list[Recorder] = []
        self._of_family: dict[str, Recorder] = {}
        self._of_thing: dict[str, Recorder] = {}
        self._opened: list[Recorder] = []
        self._block: ExitStack | None = None
        self._in_block: set[Recorder] = set()

    def __repr__(self) -> str:
        return f"<Histories {', '.join(map(repr, self._on)) or 'none'}>"

    def __call__(self, entry: Entry) -> int:
        """Take an entry into the history that it belongs to; return its index there."""
        if entry.lane.startswith(_PROCESS):
            return max(self._written(recorder, entry) for recorder in {self._apart, *self._on})
        return self._written(self._whose(entry), entry)

    @property
    def apart(self) -> Recorder:
        """The history of what names no order: that of the scenario itself, if only one is on."""
        return self._apart

    def begin(self, name: str) -> Recorder:
        """Write everything to one new history, ``name.jsonl``, whatever it is about.

        The earlier ones are closed. What still follows from what stands in them is theirs and
        kept in memory: here it would have a cause that is not in the file.
        """
        self.close()
        self._opened.clear()
        recorder = self._opened_for(name)
        self._apart, self._on = recorder, [recorder]
        self._of_family = {}
        return recorder

    def begin_for(self, families: Mapping[str, str]) -> dict[str, Recorder]:
        """Write to a new history for each scenario, whose orders are of the family it is given."""
        recorders = {name: self._opened_for(name) for name in families}
        self._on = list(recorders.values())
        self._apart = self._on[0] if len(self._on) == 1 else Recorder()
        self._of_family |= {family: recorders[name] for name, family in families.items()}
        return recorders

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what a block records in one piece for each history that it concerns."""
        with ExitStack() as stack:
            self._block, outer = stack, (self._block, self._in_block)
            self._in_block = set()
            try:
                yield
            finally:
                self._block, self._in_block = outer

    def close(self) -> None:
        """Close every file; what still arrives is kept in memory."""
        for recorder in self._opened:
            recorder.close()

    def _whose(self, entry: Entry) -> Recorder:
        value, known = entry.value, self._of_thing
        things = [thing for name in _THINGS if (thing := value.get(name))]
        owner = known.get(value.get("call", "")) or self._of_family.get(family_of(entry.order))
        if owner is None:
            owner = next((known[thing] for thing in things if thing in known), self._apart)
        for thing in things:
            known.setdefault(thing, owner)
        for name in _ENDS.get((entry.lane, entry.kind), ()):  # nothing more follows from it
            known.pop(value.get(name, ""), None)
        return owner

    def _written(self, recorder: Recorder, entry: Entry) -> int:
        if self._block is not None and recorder not in self._in_block:
            self._in_block.add(recorder)
            self._block.enter_context(recorder.together())
        return recorder(entry)

    def _opened_for(self, name: str) -> Recorder:
        recorder = Recorder(self._folder / f"{name}.jsonl")
        self._opened.append(recorder)
        return recorder
