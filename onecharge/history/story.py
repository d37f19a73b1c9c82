"""What happened to one order, told from three sides: client, provider, service.

Rule 1: a story holds facts and their places in the history; it concludes nothing.
Rule 2: places are record indexes; a smaller one happened earlier.
"""

from dataclasses import dataclass, field
from typing import Literal

from onecharge.history.outcomes import MEANING, TERMINAL, Outcome

BeliefStatus = Literal["succeeded", "failed", "pending", "absent", "unreadable"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client was told. ``charge`` is the service's own id for it."""

    index: int
    outcome: Outcome
    status: int | None = None
    charge: str | None = None
    provider_charge: str | None = None
    error: str | None = None

    @property
    def terminal(self) -> bool:
        """Whether it says how the order ended."""
        return self.outcome in TERMINAL


@dataclass(slots=True)
class Attempt:
    """One request of a client. Without an answer it never came back, as far as we know."""

    lane: str
    number: int
    invoked: int
    tenant: str | None
    key: str | None
    amount_minor: int
    currency: str
    answer: Answer | None = None

    @property
    def outcome(self) -> Outcome:
        return "unknown" if self.answer is None else self.answer.outcome

    @property
    def open(self) -> bool:
        """Whether the client cannot know how the order ended from this attempt."""
        return MEANING[self.outcome].open

    def in_flight_at(self, place: int) -> bool:
        """Whether its client was still waiting at this place of the history."""
        return self.invoked < place and (self.answer is None or place < self.answer.index)


@dataclass(slots=True)
class Call:
    """One request of the service to the provider. ``ended`` is the place of its reply or drop."""

    id: str
    operation: str
    received: int
    order: str | None
    account: str | None
    key: str | None
    ended: int | None = None
    status: int | None = None
    replayed: bool = False
    dropped: str | None = None
    charge: str | None = None
    released_because: str | None = None

    @property
    def refused(self) -> bool:
        """Whether the service was told for certain that nothing happened."""
        definite = self.status is not None and 400 <= self.status < 500
        # 409 says that another call with the key is at work, not how that one ends.
        return self.dropped is None and definite and self.status != 409

    @property
    def answered(self) -> bool:
        """Whether the service was given a success it could read."""
        return self.dropped is None and self.status is not None and 200 <= self.status < 300

    def under_way_at(self, place: int) -> bool:
        return self.received < place and (self.ended is None or place < self.ended)


@dataclass(slots=True)
class Charge:
    """The provider's record of taking money; real once ``captured`` has a place."""

    id: str
    created: int
    call: str | None
    key: str | None
    account: str | None
    amount_minor: int
    currency: str
    customer: str | None = None
    reference: str | None = None
    key_honoured: bool = True
    order: str | None = None
    captured: int | None = None
    captured_minor: int = 0
    refunded_minor: int = 0
    declined: int | None = None

    @property
    def kept_minor(self) -> int:
        """What was taken and not given back."""
        return self.captured_minor - self.refunded_minor


@dataclass(slots=True)
class Delivering:
    """One attempt to tell the service of an event. ``endpoint`` is the address it went to."""

    attempt: str
    endpoint: str
    event: str
    sent: int
    forged: bool = False
    ended: int | None = None
    acknowledged: bool = False
    status: int | None = None

    def under_way_at(self, place: int) -> bool:
        return self.sent < place and (self.ended is None or place < self.ended)


@dataclass(slots=True)
class Event:
    """A fact at the provider, and every attempt to tell of it."""

    id: str
    type: str
    created: int
    charge: str | None
    attempts: list[Delivering] = field(default_factory=list)

    @property
    def acknowledged(self) -> bool:
        """Whether every endpoint that it was sent to has acknowledged it."""
        told = {attempt.endpoint for attempt in self.attempts if attempt.acknowledged}
        return all(attempt.endpoint in told for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class Belief:
    """What the service itself said of the order when it was last asked; None: no way to ask."""

    index: int
    status: BeliefStatus | None = None
    charge: str | None = None
    amount_minor: int | None = None
    effects: int | None = None
    effects_minor: int | None = None
    refunds: int | None = None


@dataclass(frozen=True, slots=True)
class Firing:
    """A rule of the plan did its work."""

    index: int
    rule: str
    fault: str
    seam: str
    order: str | None
    call: str | None = None


@dataclass(slots=True)
class OrderStory:
    """Everything that was seen of one order. Lists are in the order of the history."""

    order: str
    tenant: str | None = None
    amount_minor: int = 0
    currency: str = ""
    customers: set[str] = field(default_factory=set)
    attempts: list[Attempt] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    charges: list[Charge] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    firings: list[Firing] = field(default_factory=list)
    belief: Belief | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The client keys it was sent under, without repeats."""
        return tuple(dict.fromkeys(a.key for a in self.attempts if a.key is not None))

    @property
    def answers(self) -> list[Answer]:
        """What clients were told, in the order in which they heard it."""
        heard = [attempt.answer for attempt in self.attempts if attempt.answer is not None]
        return sorted(heard, key=lambda answer: answer.index)

    @property
    def real_charges(self) -> list[Charge]:
        """The charges that moved money."""
        return [charge for charge in self.charges if charge.captured is not None]

    def __repr__(self) -> str:
        return (
            f"<OrderStory {self.order}: {len(self.attempts)} attempts, "
            f"{len(self.real_charges)} real charges>"
        )
