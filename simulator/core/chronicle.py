"""Every event there ever was, and the lists of them that an account may ask for.

Rule 1: nothing is taken out, and every list is in the order of birth.
Rule 2: a list costs what is on it, not what there is: other accounts' events are not looked at,
        and what was found to be delivered is not asked again, unless it is owed anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.core.events import Event


@dataclass(slots=True)
class _Account:
    """One account's events. Of the first so many, those not found delivered are ``left``."""

    events: "list[Event]" = field(default_factory=list)
    asked: int = 0
    left: "list[Event]" = field(default_factory=list)


class Chronicle:
    """All events. ``delivered`` tells whether who should know of one does."""

    def __init__(self, delivered: Callable[[str], bool]) -> None:
        self._delivered = delivered
        self._by_id: dict[str, Event] = {}
        self._accounts: dict[str, _Account] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def by_id(self) -> "Mapping[str, Event]":
        """Every event by id, oldest first."""
        return MappingProxyType(self._by_id)

    def keep(self, event: "Event") -> None:
        """Take in an event that has just been born."""
        self._by_id[event.id] = event
        account = self._accounts.get(event.account)
        if account is None:
            account = self._accounts[event.account] = _Account()
        account.events.append(event)

    def owed_anew(self, event: "Event") -> None:
        """Ask of this event again: it is delivered, but not for long."""
        self._accounts[event.account].left.append(event)

    def find(self, event_id: str, account: str) -> "Event | None":
        """Return an event if this account has it."""
        event = self._by_id.get(event_id)
        return event if event and event.account == account else None

    def of(self, account: str, *, delivered: bool | None = None) -> "list[Event]":
        """Return the events of an account, if it is said only those that are delivered or not."""
        its = self._accounts.get(account)
        if its is None:
            return []
        if delivered is False:
            return self._undelivered(its)
        if delivered is None:
            return list(its.events)
        return [event for event in its.events if self._delivered(event.id)]

    def _undelivered(self, its: _Account) -> "list[Event]":
        candidates = {event.id: event for event in (*its.left, *its.events[its.asked :])}
        left = [event for event in candidates.values() if not self._delivered(event.id)]
        left.sort(key=_birth)
        its.asked, its.left = len(its.events), left
        return list(left)


def _birth(event: "Event") -> tuple[int, str]:
    """Return the place of an event in the order of birth: ids come from a counter."""
    return len(event.id), event.id
