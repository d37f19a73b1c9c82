"""Charges on which the bank has not decided yet, and when it will.

Rule 1: what is due is settled before anything else happens, so nobody ever reads a state that
        virtual time has left behind.
Rule 2: a decision belongs to the call that asked for the money: its key, its order, its cause.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.core.calls import Call


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pending charge: the call that made it, and what its bank will say."""

    charge: str
    call: "Call"
    capture: bool
    decline: str | None
    key_honoured: bool


class Pending:
    """Everything the bank still thinks about, by when it will have decided."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Undecided]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._due)

    def add(self, due_s: float, undecided: Undecided) -> None:
        self._pushed += 1
        heappush(self._due, (due_s, self._pushed, undecided))

    def next_due(self, now: float) -> Undecided | None:
        """Take the next charge that is to be decided by now, if any."""
        if self._due and self._due[0][0] <= now:
            return heappop(self._due)[2]
        return None

    def next_wakeup(self) -> float | None:
        """Return when the next decision falls, in seconds of virtual time."""
        return self._due[0][0] if self._due else None

    def hasten(self, now: float) -> None:
        """Let everything be decided now, in the order in which it would have been."""
        self._due = [
            (min(due_s, now), place, undecided)
            for place, (due_s, _, undecided) in enumerate(sorted(self._due, key=itemgetter(0, 1)))
        ]
