"""Where boundary events wait until a scheduler lets them go on: the seam between gates and engine.

A gate (of the database, of the provider, of the customers) *parks* what reaches it; a scheduler
looks at what is parked, chooses, and *releases*. Neither knows more of the other than this file.

Rule 1: an event is named by its place in the execution, never by a clock or by chance, so that
        the same execution names the same events again.
Rule 2: nothing waits unless the parking is armed; a gate asks before it parks.
Rule 3: a release is synchronous; what follows from it happens on the event loop.
Rule 4: whoever waits for a change says which one was the last that they have seen, so that none
        is missed between a look and the wait.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from onecharge.engine.chains import Chains

if TYPE_CHECKING:
    from collections.abc import Callable

Standing = Literal["beginning", "under way", "woken"]
"""How an event stands to who waits for it.

- *beginning*: nobody waits yet, since what is parked has not left us;
- *under way*: somebody waits for it, and it goes on when it is chosen;
- *woken*: the answer to what was blocked. It goes on by itself, once everybody else is at rest.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the execution a boundary event is."""

    lane: str
    """The chain that it belongs to: ``client:1``, ``webhook:1``, ``background:1``."""
    what: str
    """What happens, without what differs from run to run: ``INSERT INTO charges``, ``COMMIT``."""
    nth: int
    """Which of its lane and kind it is, from 1."""

    def __str__(self) -> str:
        return f"{self.lane} {self.what} #{self.nth}"


class Places:
    """Gives events their places, and lanes their numbers in the order of their first use."""

    def __init__(self) -> None:
        self._lanes: dict[str, dict[object, int]] = {}
        self._seen: Counter[tuple[str, str]] = Counter()

    def lane(self, kind: str, who: object) -> str:
        """Return the lane of one of a kind, ``webhook:2`` for the second that was asked for.

        ``who`` is told from others by being equal: a connection, a customer.
        """
        of_this_kind = self._lanes.setdefault(kind, {})
        return f"{kind}:{of_this_kind.setdefault(who, len(of_this_kind) + 1)}"

    def next(self, lane: str, what: str) -> Place:
        """Return the place of the event that happens now."""
        self._seen[lane, what] += 1
        return Place(lane, what, self._seen[lane, what])

    def start_over(self) -> None:
        """Forget all numbers: a new run begins."""
        self._lanes.clear()
        self._seen.clear()


class Parked(Protocol):
    """An event that waits. It leaves the parking by itself when its connection is gone."""

    @property
    def place(self) -> Place:
        """Where in the execution it is."""
        ...

    @property
    def order(self) -> str | None:
        """The reference of the order whose event it is, where that can be told."""
        ...

    @property
    def standing(self) -> Standing:
        """Whether somebody waits for it, and whether it is to be chosen."""
        ...

    def release(self) -> None:
        """Let it go on. Once it has left the parking, this does nothing."""
        ...


class Parking:
    """All parked events of a world, in the order of their arrival."""

    def __init__(self) -> None:
        self.places = Places()
        self.chains = Chains()
        self.changes = 0
        self.at_rest: list[Callable[[], None]] = []
        """Called when nothing moves: what still works then is blocked."""
        self.happened: list[Place] = []
        """What was let go on in this run and is answered since, in the order of the answers."""
        self._armed = False
        self._parked: dict[int, Parked] = {}
        self._forsaken: dict[int, Parked] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    def __repr__(self) -> str:
        state = "armed" if self._armed else "open"
        return f"<Parking {state}, {len(self._parked)} parked>"

    @property
    def armed(self) -> bool:
        """Whether gates park what reaches them; if not, everything passes at once."""
        return self._armed

    def arm(self) -> None:
        """Have gates park from now on; places are numbered anew."""
        self.places.start_over()
        self.chains.start_over()
        self.happened.clear()
        self._armed = True

    def disarm(self) -> None:
        """Let everything go on that is parked, and everything that comes."""
        self._armed = False
        self.release_all()

    def parked(self) -> tuple[Parked, ...]:
        """Return what waits, in the order of arrival."""
        return tuple(self._parked.values())

    @property
    def forsaken(self) -> tuple[Parked, ...]:
        """What still waits although its run is over: nobody here lets it go on."""
        return tuple(self._forsaken.values())

    def forsake(self) -> None:
        """Have everything that is parked wait on, and think no more of it: its service will die."""
        self._forsaken |= self._parked
        self._parked.clear()

    def release(self, event: Parked) -> None:
        """Let one go on; if it has left already, do nothing."""
        if id(event) in self._parked:
            self.chains.moves(event.place.lane)
            event.release()

    def release_all(self) -> None:
        """Let all go on that wait now, in the order of their arrival, at the same instant."""
        for event in self.parked():
            self.release(event)

    def rest(self) -> None:
        """Say that nothing moves: a scheduler calls this before it chooses."""
        for told in self.at_rest:
            told()

    def park(self, event: Parked) -> None:
        """Take in an event: gates call this."""
        assert self._armed, "parked although nothing is to be held"
        self._parked[id(event)] = event
        self.stir()

    def leave(self, event: Parked) -> None:
        """Forget an event that goes on, or that never will: who parked it calls this, once."""
        if self._forsaken.pop(id(event), None) is None:
            del self._parked[id(event)]
        self.stir()

    def answered(self, place: Place) -> None:
        """Take in that what was let go on has happened: gates call this."""
        if self._armed:
            self.happened.append(place)

    def stir(self) -> None:
        """Say that something moved, as when an answer has come: it counts as a change."""
        self.changes += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def changed(self, seen: int) -> int:
        """Wait until there were more ``changes`` than were ``seen``; how many there are now."""
        while self.changes <= seen:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)
        return self.changes
