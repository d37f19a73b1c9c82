"""The provider: a machine without I/O that is fed requests and says what to answer.

Rule 1: time and chance come in; ids come from counters. Same seed and same inputs, same bytes.
Rule 2: the life of a call is one generator, read from top to bottom; it yields where it is held.
Rule 3: the commit is one synchronous block: ledger, journal and event, or none of them.
Rule 4: a call that was read is always lived to its end, whether or not its caller stays.

    receive ─ on_receive ─ key lookup ─ before_commit ─ COMMIT ─ stored ─ after_commit ─ reply
                              └─ replay, mismatch, in flight
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar, assert_never

from simulator.core.bank import Bank, Change
from simulator.core.calls import (
    Call,
    CreateCharge,
    ListCharges,
    ListEvents,
    Operation,
    Params,
    ReadEvent,
    ResendEvent,
    Unreadable,
)
from simulator.core.charges import Charge
from simulator.core.deliveries import (
    Answered,
    Attempt,
    AttemptOutcome,
    Deliveries,
    Delivery,
    Endpoint,
    NoAnswer,
    Turn,
)
from simulator.core.dialect import Dialect
from simulator.core.events import Event
from simulator.core.faults import (
    Answer,
    Break,
    Copies,
    Decline,
    Fault,
    Hold,
    IgnoreKey,
    Missign,
    Rewrite,
    Withhold,
)
from simulator.core.idempotency import Expired, Fresh, InFlight, KeyStore, Mismatch, Replay
from simulator.core.journal import FAULT, PROVIDER, WEBHOOK, Entry, Journal, Sink
from simulator.core.ledger import Ledger
from simulator.core.messages import (
    Action,
    Drop,
    Held,
    HttpReply,
    HttpRequest,
    Reply,
    Seam,
    Until,
)
from simulator.core.results import EventResent, EventShown, EventsListed, Problem, Result
from simulator.core.rules import Plan, Rule

AnyBend = TypeVar("AnyBend")
Held_ = Generator[Held, str, None]
Life = Generator[Held, str, Reply | Drop]


class Provider:
    """A payment provider that charges, remembers keys, tells endpoints, and goes wrong on demand.

    ``now`` is always seconds of virtual time. ``sink`` takes every journal entry as it happens.
    ``namespace`` goes into every id the outside sees, for two providers in one service's life.
    """

    def __init__(
        self,
        dialect: Dialect,
        *,
        seed: int = 0,
        sink: Sink | None = None,
        namespace: str = "",
    ) -> None:
        self.dialect = dialect
        self.seed = seed
        self.sink: Sink = Journal() if sink is None else sink
        self.bank = Bank(namespace)
        self.keys = KeyStore(dialect.keys)
        self.deliveries = Deliveries(dialect.schedule_s)
        self.plan = Plan(chance=Random(seed))
        self._chance = Random(seed)
        self._namespace = namespace
        self._events: dict[str, Event] = {}
        self._held: dict[str, tuple[Call, Held, Life]] = {}
        self._sent: dict[str, int] = {}
        self._calls = self._attempts = 0
        self._now = 0.0

    @property
    def ledger(self) -> Ledger:
        """The truth about real charges."""
        return self.bank.ledger

    @property
    def charges(self) -> Mapping[str, Charge]:
        """Every charge by id, as it now is."""
        return self.bank.charges

    @property
    def events(self) -> Mapping[str, Event]:
        """Every event by id, oldest first."""
        return MappingProxyType(self._events)

    @property
    def held(self) -> dict[str, tuple[Call, Held]]:
        """The calls that are being held, by id, in the order of their arrival at the seam."""
        return {id_: (call, held) for id_, (call, held, _) in self._held.items()}

    def receive(self, request: HttpRequest, now: float) -> list[Action]:
        """Take a request in, and say what to do with its caller."""
        raise NotImplementedError

    def resume(self, call_id: str, now: float, reason: str = "released") -> list[Action]:
        """Let a held call go on. One that is not held stays as it is: nothing is to be done."""
        raise NotImplementedError

    def arm(self, rules: Iterable[Rule], now: float = 0.0) -> Plan:
        """Put these rules in force instead of the present ones; windows count from ``now``."""
        raise NotImplementedError

    def disarm(self) -> Plan:
        """End all faults. The plan stays readable; calls already held stay held."""
        raise NotImplementedError

    def add_endpoint(self, url: str, secret: str, account: str | None = None) -> Endpoint:
        """Tell ``url`` of every event to come, of one account or of all."""
        raise NotImplementedError

    def remove_endpoint(self, url: str, account: str | None = None) -> None:
        """Stop telling ``url`` anything."""
        raise NotImplementedError

    def resend(self, event_id: str, now: float) -> list[Delivery]:
        """Deliver an event once more, under its old id, to all endpoints. Raises ``KeyError``."""
        raise NotImplementedError

    def attempts_due(self, now: float) -> list[Attempt]:
        """Begin every attempt that is due, and return them for sending."""
        raise NotImplementedError

    def message(self, attempt: Attempt, wall_s: float) -> HttpRequest:
        """Return the signed POST of an attempt; ``wall_s`` is real time, ``path`` the URL."""
        raise NotImplementedError

    def attempt_finished(self, attempt: Attempt, outcome: AttemptOutcome, now: float) -> None:
        """Take in what became of an attempt. Done twice, or after a removal, it means nothing."""
        raise NotImplementedError

    def next_wakeup(self) -> float | None:
        """Return when ``attempts_due`` will next have something, in virtual seconds."""
        raise NotImplementedError
