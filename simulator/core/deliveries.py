"""The duty to tell an endpoint of an event, and every attempt at it.

Rule 1: at least once, in no promised order, on the dialect's schedule of virtual time.
Rule 2: attempts count from 1 and never start again; a copy is an attempt like any other.
Rule 3: each copy has its own retries; the duty is done when any attempt is acknowledged.
Rule 4: what is due next is the top of a heap; nothing is ever searched for.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from simulator.core.faults import Tamper
from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.events import Event


@dataclass(slots=True, eq=False)
class Endpoint:
    """Where webhooks go. ``account`` limits it to the events of one account.

    After a rotation the old secret still signs beside the new one, until ``old_until_s``. One
    URL may be several endpoints if each has a ``name``. No ``types`` means all of them.
    """

    url: str
    secret: str
    account: str | None = None
    old_secret: str | None = None
    old_until_s: float = 0.0
    name: str = ""
    types: tuple[str, ...] = ()

    @property
    def where(self) -> tuple[str, str]:
        """What it is known by to whoever asks whether it has been told: not by its secret."""
        return self.url, self.name

    def wants(self, event: "Event") -> bool:
        """Tell whether this endpoint is to hear of an event."""
        mine = self.account is None or self.account == event.account
        return mine and (not self.types or event.type in self.types)

    def rotate(self, secret: str, *, old_until_s: float) -> None:
        """Sign with a new secret from now on, and with the present one for a while as well."""
        self.old_secret, self.secret = self.secret, secret
        self.old_until_s = old_until_s

    def secrets(self, now: float) -> tuple[str, ...]:
        """Return what an attempt is signed with now, the newest first."""
        if self.old_secret is not None and now < self.old_until_s:
            return (self.secret, self.old_secret)
        return (self.secret,)


@dataclass(slots=True)
class Delivery:
    """The duty to tell one endpoint of one event. Faults read it and never write.

    ``attempts`` counts those begun so far, so that the coming one is ``attempts + 1``.
    ``in_turn`` is how many copies are sent one after the other's acknowledgement, ``gap_s`` how
    long after it. ``postponed`` counts how often a fault has put it off, ``overtakes`` says that
    another one of its order waits to be overtaken, and ``followers`` wait for its end.
    ``foreign_id`` is the id of an earlier delivery's event that is another account's,
    ``other_id`` of one that is another order's, of whatever account.
    """

    id: str
    event: "Event"
    endpoint: Endpoint
    attempts: int = 0
    in_turn: int = 1
    gap_s: float = 0.0
    acknowledged: bool = False
    withheld: bool = False
    forged: bool = False
    postponed: int = 0
    overtakes: bool = False
    foreign_id: str | None = None
    other_id: str | None = None
    followers: "tuple[Turn, ...]" = ()

    @property
    def untouched(self) -> bool:
        """Whether it is a true event's, still to be sent for the first time, and not put off."""
        return self.attempts == 0 and self.postponed == 0 and self.event.repeats is None

    def __repr__(self) -> str:
        told = "acknowledged" if self.acknowledged else f"{self.attempts} attempts"
        return f"<Delivery {self.id} {self.event.id} {told}>"


@value(frozen=True, slots=True)
class Attempt:
    """One POST for a delivery, signed with each of its secrets.

    ``cause`` is the index of its ``send`` record.
    """

    id: str
    delivery: str
    number: int
    copy: int
    event: "Event"
    url: str
    secrets: tuple[str, ...]
    cause: int
    tamper: Tamper = field(default_factory=Tamper)

    @property
    def secret(self) -> str:
        """The newest of the secrets."""
        return self.secrets[0]

    @property
    def order(self) -> str | None:
        return self.event.order

    @property
    def account(self) -> str:
        return self.event.account


@value(frozen=True, slots=True)
class Answered:
    """The endpoint answered an attempt; whether that was an acknowledgement is not said."""

    status: int
    body: bytes = b""


@value(frozen=True, slots=True)
class NoAnswer:
    """No answer to an attempt: refused, reset, timed out. Whether it was read is unknown."""

    error: str


AttemptOutcome = Answered | NoAnswer


@value(frozen=True, slots=True)
class Turn:
    """One copy of a delivery is due: its ``tries`` earlier attempts failed."""

    delivery: Delivery
    copy: int = 1
    tries: int = 0


Line = tuple[tuple[str, str], str, str | None]
"""What deliveries have in common that can overtake each other: endpoint, account and order."""


@dataclass(slots=True)
class Deliveries:
    """Every duty there ever was, and which is due next."""

    schedule_s: tuple[float, ...]
    endpoints: list[Endpoint] = field(default_factory=list)
    by_id: dict[str, Delivery] = field(default_factory=dict)
    _due: list[tuple[float, int, Turn]] = field(default_factory=list)
    _pushed: int = 0
    _in_flight: dict[str, Turn] = field(default_factory=dict)
    _overtakable: dict[Line, Turn] = field(default_factory=dict)
    _overtaken: dict[str, Turn] = field(default_factory=dict)
    _told: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    _untold: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def add_endpoint(self, endpoint: Endpoint) -> None:
        """Tell this endpoint of every event to come."""
        self.remove_endpoint(endpoint.url, endpoint.account, endpoint.name)
        self.endpoints.append(endpoint)

    def remove_endpoint(
        self, url: str, account: str | None = None, name: str | None = None
    ) -> None:
        """Stop telling this URL anything; what is still due to it is never sent.

        With a ``name``, only the endpoint of that name goes.
        """
        self.endpoints = [
            each
            for each in self.endpoints
            if (each.url, each.account) != (url, account) or name not in (None, each.name)
        ]
        self._due = [due for due in self._due if due[2].delivery.endpoint in self.endpoints]
        self._due.sort()

    def endpoint(self, url: str, account: str | None = None) -> Endpoint:
        """Return the endpoint at ``url`` for this account. Raises ``KeyError``."""
        for endpoint in self.endpoints:
            if (endpoint.url, endpoint.account) == (url, account):
                return endpoint
        raise KeyError(url)

    def endpoints_for(self, event: "Event") -> list[Endpoint]:
        return [endpoint for endpoint in self.endpoints if endpoint.wants(event)]

    def owe(self, delivery: Delivery, now: float) -> None:
        """Take on a duty: its first attempt is due when the schedule says."""
        self.by_id[delivery.id] = delivery
        event, where = delivery.event.id, delivery.endpoint.where
        if where not in self._told.get(event, ()):
            self._untold.setdefault(event, set()).add(where)
        self._push(now + self.schedule_s[0], Turn(delivery))

    def postpone(self, turn: Turn, due_s: float, *, until_overtaken: bool) -> None:
        """Put a turn off; with ``until_overtaken`` at most until a later event has been told."""
        turn.delivery.postponed += 1
        if until_overtaken:
            self._overtakable[_line(turn.delivery)] = turn
        self._push(due_s, turn)

    def is_awaited(self, delivery: Delivery) -> bool:
        """Tell whether another delivery of this order waits to be overtaken by this one."""
        waiting = self._overtakable.get(_line(delivery))
        return waiting is not None and waiting.delivery is not delivery

    def attempts_in_flight(self) -> dict[str, Turn]:
        """Return the attempts that have been begun and not yet finished, by id."""
        return dict(self._in_flight)

    def another_secret(self, than: Endpoint) -> str | None:
        """Return the secret of some other endpoint, if there is one with another secret."""
        return next((e.secret for e in self.endpoints if e.secret != than.secret), None)

    def expect(self, delivery: Delivery) -> None:
        """Know of a duty that begins when the one before it has ended."""
        self.by_id[delivery.id] = delivery
        self._untold.setdefault(delivery.event.id, set()).add(delivery.endpoint.where)

    def next_due(self, now: float) -> Turn | None:
        """Take the next turn that is due, if any."""
        if self._due and self._due[0][0] <= now:
            return heappop(self._due)[2]
        return None

    def hasten(self, now: float, orders: Collection[str] | None = None) -> None:
        """Let everything be due now, in the order in which it would have been.

        With ``orders``, only what tells of one of them is hastened.
        """
        hastened = [
            (min(due_s, now) if _tells_of(turn, orders) else due_s, turn)
            for due_s, _, turn in sorted(self._due, key=itemgetter(0, 1))
        ]
        self._due = [(due_s, place, turn) for place, (due_s, turn) in enumerate(hastened)]
        heapify(self._due)

    def under_way(self, now: float) -> int:
        """Return how many attempts are in flight or due."""
        return len(self._in_flight) + sum(due_s <= now for due_s, _, _ in self._due)

    def next_wakeup(self) -> float | None:
        """Return when the next turn is due, in seconds of virtual time."""
        return self._due[0][0] if self._due else None

    @property
    def unfinished(self) -> int:
        """How many attempts are in flight or still to come."""
        return len(self._due) + len(self._in_flight)

    def unfinished_of(self, orders: Collection[str]) -> int:
        """Return how many of the unfinished attempts tell of one of these orders."""
        turns = chain((turn for _, _, turn in self._due), self._in_flight.values())
        return sum(_tells_of(turn, orders) for turn in turns)

    def begin(self, attempt_id: str, turn: Turn) -> int:
        """Count one attempt as begun, and return its number."""
        waiting = self._overtakable.pop(_line(turn.delivery), None) if self._overtakable else None
        if waiting is not None and waiting is not turn:  # else it was not overtaken in time
            self._overtaken[turn.delivery.id] = waiting
        turn.delivery.attempts += 1
        self._in_flight[attempt_id] = turn
        return turn.delivery.attempts

    def in_flight(self, attempt_id: str) -> bool:
        """Tell whether this attempt was begun and its outcome is still to come."""
        return attempt_id in self._in_flight

    def finish(self, attempt_id: str, now: float, *, acknowledged: bool) -> None:
        """Plan what follows from an attempt's outcome: nothing, a retry or the next copy."""
        turn = self._in_flight.pop(attempt_id)
        if acknowledged or turn.delivery.event.repeats is not None:
            self._let_follow(turn.delivery, now)
        if acknowledged:
            self._acknowledge(turn, now)
        elif turn.delivery.forged:
            pass  # a forger has no schedule
        elif turn.tries + 1 < len(self.schedule_s):
            wait_s = self.schedule_s[turn.tries + 1]
            self._push(now + wait_s, Turn(turn.delivery, turn.copy, turn.tries + 1))

    def delivered(self, event_id: str) -> bool:
        """Tell whether every endpoint that should know of this event has acknowledged it."""
        return event_id in self._told and not self._untold.get(event_id)

    def _acknowledge(self, turn: Turn, now: float) -> None:
        delivery = turn.delivery
        delivery.acknowledged = True
        event, where = delivery.event.id, delivery.endpoint.where
        self._told.setdefault(event, set()).add(where)
        self._untold.get(event, set()).discard(where)
        if turn.copy < delivery.in_turn:
            self._push(now + delivery.gap_s, Turn(delivery, turn.copy + 1))
        overtaken = self._overtaken.pop(delivery.id, None)
        if overtaken is not None:
            self._due = sorted(
                (min(due_s, now) if turn is overtaken else due_s, place, turn)
                for due_s, place, turn in self._due
            )

    def _let_follow(self, delivery: Delivery, now: float) -> None:
        """Let come what has waited for this delivery, once."""
        followers, delivery.followers = delivery.followers, ()
        for turn in followers:
            self._push(now, turn)

    def _push(self, due_s: float, turn: Turn) -> None:
        if turn.delivery.endpoint in self.endpoints:
            self._pushed += 1
            heappush(self._due, (due_s, self._pushed, turn))


def _tells_of(turn: Turn, orders: Collection[str] | None) -> bool:
    return orders is None or turn.delivery.event.order in orders


def _line(delivery: Delivery) -> Line:
    """Return what deliveries have in common that can overtake each other."""
    event = delivery.event
    return delivery.endpoint.where, event.account, event.order
