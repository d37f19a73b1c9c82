"""What a PostgreSQL server still owes, and which of its messages belongs to what.

Rule 1: the server answers in the order of the questions, so a line of what is owed is enough.
Rule 2: after an error in the extended protocol it reads on to the next Sync and answers nothing.
Rule 3: while it takes in a COPY it heeds neither Sync nor Flush.
Rule 4: notices, parameters and notifications come at any time and settle nothing.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

IDLE: Final = b"I"
IN_TRANSACTION: Final = b"T"
FAILED: Final = b"E"

Whose = TypeVar("Whose")


@dataclass(slots=True)
class Owed(Generic[Whose]):
    """One answer to come."""

    kind: bytes
    """The type of the message that asked."""
    whose: Whose | None = None
    quiet: bool = False
    """Whether we asked, not the client, who must not hear that it was done."""
    lost: bool = False
    """Whether nothing of the answer is to reach the client."""
    instead: Mapping[bytes, bytes] = field(default_factory=dict)
    """What the client is told in place of a message of some type."""


_SETTLED_BY: Final[dict[bytes, frozenset[bytes]]] = {
    b"P": frozenset({b"1"}),
    b"B": frozenset({b"2"}),
    b"C": frozenset({b"3"}),
    b"D": frozenset({b"T", b"n"}),
    b"E": frozenset({b"C", b"I", b"s"}),
    b"S": frozenset({b"Z"}),
    b"Q": frozenset({b"Z"}),
    b"F": frozenset({b"Z"}),
}
"""Which message of the server settles what the client asked for."""

_UNTIL_READY: Final = frozenset({b"S", b"Q", b"F"})
_UNASKED: Final = frozenset({b"N", b"S", b"A"})
OPENING: Final = b"Q"
"""A session that begins is answered as a Query is: with ReadyForQuery at the end."""


class Awaited(Generic[Whose]):
    """The line of what is owed on one connection."""

    def __init__(self) -> None:
        self.status = IDLE
        self.skipping = False
        """Whether the server reads on to the next Sync and does nothing (rule 2)."""
        self._line: deque[Owed[Whose]] = deque()
        self._copying = False

    def __len__(self) -> int:
        return len(self._line)

    @property
    def head(self) -> Owed[Whose] | None:
        """What the server is answering now."""
        return self._line[0] if self._line else None

    @property
    def working(self) -> bool:
        """Whether the next move is the server's: it owes something, and waits for no COPY data."""
        return bool(self._line) and not self._copying

    @property
    def owes_lost(self) -> bool:
        """Whether there is still an answer to come that is to be lost."""
        return any(owed.lost for owed in self._line)

    def asked(self, owed: Owed[Whose]) -> None:
        """Take in that a message went to the server."""
        kind = owed.kind
        if self._copying:
            if kind in {b"c", b"f"}:
                self._copying = False
            return
        if kind not in _SETTLED_BY:
            return
        if self.skipping:
            if kind not in _UNTIL_READY:
                return
            self.skipping = False
        self._line.append(owed)

    def came(self, kind: bytes, data: bytes) -> list[Owed[Whose]]:
        """Take in a message of the server; return what it settled, be it by an error."""
        if kind in _UNASKED or not self._line:
            return []
        head = self._line[0]
        if kind == b"Z":
            self.status, self._copying = data[5:6], False
            return self._up_to_ready()
        if kind == b"E":
            self._copying = False
            return [] if head.kind in _UNTIL_READY else self._skipped()
        if kind == b"G":
            self._copying = True
            if head.kind == b"E":
                self._line = deque([head])  # rule 3: the Syncs behind it are not heeded
            return []
        if head.kind not in _UNTIL_READY and kind in _SETTLED_BY[head.kind]:
            return [self._line.popleft()]
        return []

    def _up_to_ready(self) -> list[Owed[Whose]]:
        settled = []
        while self._line:
            settled.append(self._line.popleft())
            if settled[-1].kind in _UNTIL_READY:
                break
        return settled

    def _skipped(self) -> list[Owed[Whose]]:
        settled = []
        while self._line and self._line[0].kind not in _UNTIL_READY:
            settled.append(self._line.popleft())
        self.skipping = not self._line
        return settled
