"""Judging while it happens: a violation is told with the record that shows it, not at the end.

Rule 1: told is what nothing that is yet to come can make right; the judgement at the end tells it
        again, with everything that is known by then. What is not told here may be violated still.
Rule 2: as at the end, an unfair scenario violates nothing, nor does what a service declares absent;
        and where several hosts wrote, there is no *while*.
Rule 3: a record costs the same however many there were before.
Rule 4: who watches stands in nobody's way: what cannot be understood is left to the end, which
        says what is the matter with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from onecharge.history.judgement import Violation
from onecharge.history.live import LiveCase
from onecharge.history.records import Record
from onecharge.invariants import invariants


@dataclass(frozen=True, slots=True)
class Seen:
    """A violation, the invariant that it is one of, and the record that showed it."""

    invariant: str
    violation: Violation
    at: int


class Watch:
    """Judges one history as it is written. ``seen`` is what was found so far, by order."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self._live = LiveCase()
        self._watched = [each for each in invariants() if each.at_once is not None]

    def see(self, record: Record) -> Seen | None:
        """Take one more record, and return what it shows: the first violation of an order."""
        try:
            story = self._live.take(record) if self._watched else None
            if story is None or story.order in self.seen:
                return None
            found = next(self._violations(story.order, record.index), None)
        except Exception:  # noqa: BLE001  rule 4
            self._watched = []
            return None
        if found:
            self.seen[story.order] = found
        return found

    def _violations(self, order: str, at: int) -> Iterator[Seen]:
        case = self._live.case
        if not case.run.can_violate or case.hosts:
            return
        for invariant in self._watched:
            assert invariant.at_once is not None
            if invariant.needs & case.run.absent:
                continue
            if violation := invariant.at_once(case, case.orders[order]):
                yield Seen(invariant.name, violation, at)
