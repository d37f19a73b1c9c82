"""A case that grows with every record, for who wants to know before the end.

Rule 1: only what no later record can change is put in order: a charge belongs to the order that it
        names, if that is announced; what other clues would say is left for the end.
Rule 2: a record costs the same however many there were before.
"""

from typing import Final

from onecharge.history.assembly import Assembly
from onecharge.history.attribution import Tie
from onecharge.history.case import Case
from onecharge.history.records import Record
from onecharge.history.story import Event, OrderStory
from onecharge.history.tying import give

_ANSWERS: Final = frozenset({"ok", "fail", "unknown"})


class LiveCase:
    """The case so far. ``case.unattributed`` are all charges whose order is not certain yet."""

    def __init__(self) -> None:
        self._assembly = Assembly()
        self._events = 0
        self._early: dict[str, list[Event]] = {}  # by their order, of which nothing was told yet

    @property
    def case(self) -> Case:
        """All that is told by now."""
        return self._assembly.case

    def take(self, record: Record) -> OrderStory | None:
        """Take one more record, and return the order of which it may show that it went wrong."""
        self._assembly.take(record)
        lane = record.lane.partition(":")[0]
        if len(self.case.events) > self._events:  # no event is ever taken back
            self._events = len(self.case.events)
            self._attach_the_last_event()
        story = None
        if lane == "provider" and record.what.startswith("charge."):
            story = self._tied(str(record.value.get("charge", "")))
        elif (lane == "client" and record.kind in _ANSWERS) or record.what == "belief":
            story = self.case.orders.get(record.order or record.key or record.lane)
        if story is not None and story.order in self._early:
            story.events += self._early.pop(story.order)
        return story

    def _tied(self, name: str) -> OrderStory | None:
        """Give a charge to the order that it names."""
        case = self.case
        charge = case.charges.get(name)
        if charge is None:
            return None
        story = case.orders.get(charge.reference or "")
        if story is None:
            if charge not in case.unattributed:
                case.unattributed += (charge,)
            return None
        if charge.order is None:
            give(charge, Tie(story.order, "reference"), story)
        elif charge.captured is not None and charge not in story.real_charges:
            story.real_charges.append(charge)
            story.real_charges.sort(key=lambda real: real.created)
        return story

    def _attach_the_last_event(self) -> None:
        event = next(reversed(self.case.events.values()))
        tied = self.case.charges.get(event.charge or "")
        order = (tied.order if tied else None) or event.order or ""
        if story := self.case.orders.get(order):
            story.events.append(event)
        else:
            self._early.setdefault(order, []).append(event)
