"""What happened, as frozen records: the provider's lane of the history.

Rule 1: an entry says what is the case; the sink decides where and when it is written.
Rule 2: the sink is called inside the block that changes the state, so no reader of the
        history ever sees an answer before the effect it speaks of.
Rule 3: ``value`` holds JSON data only, and always a ``what`` that names the fact.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any, Final, Literal

from simulator.core.values import value

Kind = Literal[
    "invoke",
    "ok",
    "fail",
    "unknown",
    "effect",
    "send",
    "receive",
    "park",
    "release",
    "drop",
    "crash",
    "restart",
    "read",
]

PROVIDER: Final = "provider"
WEBHOOK: Final = "webhook"
FAULT: Final = "fault"


@value(frozen=True, slots=True)
class Entry:
    """One fact, before it has a place and a time in the history.

    ``lane`` is who it happened to: ``client:n``, ``provider``, ``webhook``, ``database``,
    ``process:name``, ``fault`` or ``judge``. ``order`` is the merchant's own reference,
    ``key`` the idempotency key in play, ``cause`` the index of the record that caused it.
    """

    lane: str
    kind: Kind
    value: Mapping[str, Any] = field(default_factory=dict)
    order: str | None = None
    tenant: str | None = None
    key: str | None = None
    cause: int | None = None


Sink = Callable[[Entry], int]
"""Takes an entry into the history and returns its index."""

Together = Callable[[], AbstractContextManager[object]]
"""Opens a block whose entries may be written in one piece when it ends.

Nothing may leave this process inside it: no answer, no webhook. It never waits.
"""

_ONE_BY_ONE: Final = nullcontext()


def one_by_one() -> AbstractContextManager[object]:
    """Open a block whose entries are written as they come: the same block for everybody."""
    return _ONE_BY_ONE


class Journal:
    """The plainest sink: a list in memory, for tests and for the provider on its own."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def __call__(self, entry: Entry) -> int:
        entries = self.entries
        entries.append(entry)
        return len(entries) - 1


class Tally:
    """A sink for soaks: it counts what happened, by ``what``, and keeps nothing else of it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._taken = 0

    def __call__(self, entry: Entry) -> int:
        self.counts[entry.value["what"]] += 1
        self._taken += 1
        return self._taken - 1

    def __len__(self) -> int:
        return self._taken
