"""The simulator's own journal, for who brings no history of their own: a list with times.

Rule 1: an index is a place in the list; nothing is taken out of it.
Rule 2: a line has the keys of the history file, so that one reader reads both.
Rule 3: no live key and nobody's card number is in a line.
"""

from array import array
from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from simulator.core.journal import Entry
from simulator.redaction import without_secrets


class TimedJournal:
    """A sink that remembers what happened, and when on the monotonic clock."""

    def __init__(self, *, now_ns: Callable[[], int] = monotonic_ns) -> None:
        self._now_ns = now_ns
        self._entries: list[Entry] = []
        self._times_ns = array("q")

    def __call__(self, entry: Entry) -> int:
        self._times_ns.append(self._now_ns())
        self._entries.append(entry)
        return len(self._entries) - 1

    def __len__(self) -> int:
        return len(self._entries)

    def lines(self, first: int = 0) -> list[dict[str, Any]]:
        """Return everything from an index on, as JSON objects."""
        return [
            _line(first + offset, time_ns, entry)
            for offset, (time_ns, entry) in enumerate(
                zip(self._times_ns[first:], self._entries[first:], strict=True)
            )
        ]


def _line(index: int, time_ns: int, entry: Entry) -> dict[str, Any]:
    line: dict[str, Any] = {"i": index, "t": time_ns, "lane": entry.lane, "kind": entry.kind}
    for name in ("order", "tenant", "key", "cause"):
        if (value := getattr(entry, name)) is not None:
            line[name] = without_secrets(value)
    if entry.value:
        line["value"] = without_secrets(entry.value)
    return line
