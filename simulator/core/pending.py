"""Charges on which the bank has not decided yet, and when it will.

Rule 1: what is due is settled before anything else happens, so nobody ever reads a state that
        virtual time has left behind.
Rule 2: a decision belongs to the call that asked for the money: its key, its order, its cause.
"""

from collections.abc import Collection
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
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
        self.next_s = float("inf")  # when the next decision falls, in seconds of virtual time
        self._due: list[tuple[float, int, Undecided]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._due)

    def add(self, due_s: float, undecided: Undecided) -> None:
        """Let a charge be decided at ``due_s``."""
        self._pushed += 1
        heappush(self._due, (due_s, self._pushed, undecided))
        self._look_ahead()

    def take(self) -> Undecided:
        """Take the charge that is to be decided next."""
        undecided = heappop(self._due)[2]
        self._look_ahead()
        return undecided

    def of(self, orders: Collection[str]) -> int:
        """Return how many of the undecided charges are of one of these orders."""
        return sum(_concerns(undecided, orders) for _, _, undecided in self._due)

    def hasten(self, now: float, orders: Collection[str] | None = None) -> None:
        """Let everything be decided now, or all that concerns these orders, in the same order."""
        hastened = [
            (min(due_s, now) if _concerns(undecided, orders) else due_s, undecided)
            for due_s, _, undecided in sorted(self._due, key=itemgetter(0, 1))
        ]
        self._due = [(due_s, place, undecided) for place, (due_s, undecided) in enumerate(hastened)]
        heapify(self._due)
        self._look_ahead()

    def _look_ahead(self) -> None:
        self.next_s = self._due[0][0] if self._due else float("inf")


def _concerns(undecided: Undecided, orders: Collection[str] | None) -> bool:
    return orders is None or undecided.call.order in orders
