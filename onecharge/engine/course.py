"""What a scheduler is asked to run, and how the run went.

Rule 1: an operation begins outside the service: a customer's request. What follows from it, the
        service decides.
Rule 2: a course says how sure of it we are: what the machine decided is a sample.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onecharge.engine.tapes.chooser import ALL_AT_ONCE

if TYPE_CHECKING:
    import asyncio

    from onecharge.engine.parking import Place


@dataclass(frozen=True, slots=True)
class Operation:
    """Something to be done from outside, as a customer's request: parked until it may begin.

    Once it may, nothing happens for ``waits_s``: whatever is parked meanwhile stays so, as while
    a lease runs out. That wait is what was chosen, and no patience is spent on it.
    Where there is ``when``, that is waited for beforehand, and says whether it is done at all.
    """

    lane: str
    what: str
    begin: Callable[[], Awaitable[object]]
    order: str | None = None
    waits_s: float = 0.0
    when: Callable[[], Awaitable[bool]] | None = None


@dataclass(slots=True)
class Course:
    """How a run went: what was released in which order, and how sure of it we are."""

    releases: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    """The same, by the events: those that were let go at once are here in the order of their ends.

    Whose they were cannot be told then: what an event is called is sure, its chain is not.
    """
    silences: int = 0
    swept: bool = False
    """Whether it was a late probe, where the machine decides what comes first."""
    moves: list[str] = field(default_factory=list)
    died: bool = False
    left_behind: Sequence["asyncio.Task[None]"] = ()
    """Operations that did not end, since the run did before them."""
    hurried: bool = False
    stuck: bool = False

    @property
    def together(self) -> bool:
        """Whether several were released at once."""
        return ALL_AT_ONCE in self.releases

    @property
    def counts(self) -> bool:
        """Whether it was what its tape says, and no sample."""
        return not (self.together or self.swept or self.hurried or self.stuck)


def as_they_happened(let_go: Sequence[Sequence["Place"]], answered: Sequence["Place"]) -> list[str]:
    """Return the events that went on; of those that did together, first what was answered first."""
    nth = {place: at for at, place in enumerate(answered)}
    return [
        str(place)
        for together in let_go
        for place in sorted(together, key=lambda place: nth.get(place, -1))
    ]
