"""Tells histories by hand: one line, one fact."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import pytest

from onecharge.history import Case, Record, Recorder, case_of
from onecharge.history.outcomes import MEANING, Outcome
from onecharge.invariants import invariants
from onecharge.watch import Seen, Watch
from simulator.core.journal import Entry, Kind


class Asked(NamedTuple):
    """A request of a client that waits for its answer."""

    order: str
    key: str
    lane: str
    invoked: int
    tenant: str = "shop"


class Tale:
    """A history under construction. Orders are announced with 5.00, 5.01, … EUR."""

    told_so_far: ClassVar[list["Tale"]] = []

    def __init__(self, *orders: str, **run: Any) -> None:
        self.recorder = Recorder(clock=itertools.count(1_000_000, 1_000_000).__next__)
        self.amounts = {order: 500 + n for n, order in enumerate(orders)}
        self._counts: dict[str, itertools.count[int]] = {}
        self._calls: dict[str, tuple[str | None, str | None, int]] = {}
        self._charges: dict[str, dict[str, Any]] = {}
        self._events: dict[str, tuple[str | None, int]] = {}
        self._sent: dict[str, tuple[str, int]] = {}
        run = {"scenario": "lost_replies", "seed": 7, "fair": True, "plan": [], **run}
        planted = [
            {"order": order, "tenant": "shop", "amount_minor": amount, "currency": "EUR"}
            | {"customer": f"cus-{order}"}
            for order, amount in self.amounts.items()
        ]
        if run.pop("announced", True):
            self.judge("invoke", "run", orders=planted, **run)
        self.told_so_far.append(self)

    @property
    def records(self) -> list[Record]:
        return self.recorder.records

    def case(self) -> Case:
        return case_of(self.records)

    # Clients.

    def asks(
        self, order: str, *, key: str | None = None, tenant: str = "shop", **value: Any
    ) -> Asked:
        lane, key = f"client:{self._next('client')}", key or f"key-{order}"
        what = value.get("what", "charge")
        value = {
            "what": what,
            "attempt": self._next(f"{what} of {order}"),
            "amount_minor": self.amounts.get(order, 500),
            "currency": "EUR",
            "customer": f"cus-{order}",
            **value,
        }
        invoked = self._write(lane, "invoke", value, order, tenant, key)
        return Asked(order, key, lane, invoked, tenant)

    def asks_back(self, order: str, amount_minor: int | None = None, **value: Any) -> Asked:
        """Have a client ask for its money back, under a key of its own."""
        value = {"key": f"back-{order}", "amount_minor": amount_minor, **value}
        return self.asks(order, what="refund", **value)

    def asks_how(self, order: str, **value: Any) -> Asked:
        """Have a client ask how its charge went."""
        return self.asks(order, what="read", **value)

    def told(self, asked: Asked, outcome: Outcome = "ok", **value: Any) -> int:
        value = {"what": "answer", "outcome": outcome, **value}
        kind = MEANING[outcome].kind
        return self._write(
            asked.lane, kind, value, asked.order, asked.tenant, asked.key, cause=asked.invoked
        )

    def refused(self, order: str, outcome: Outcome = "mismatch", **value: Any) -> None:
        """Have a client ask and be refused at once."""
        self.told(self.asks(order, **value), outcome)

    # The provider.

    def calls(
        self,
        order: str | None,
        key: str | None = None,
        operation: str = "charge.create",
        **value: Any,
    ) -> str:
        call = f"call-{self._next('call')}"
        value = {"what": "call", "call": call, "operation": operation, **value}
        index = self._write("provider", "receive", value, order, "acc", key)
        self._calls[call] = (order, key, index)
        return call

    def captures(self, call: str, /, **value: Any) -> str:
        return self._effect("captured", call, **value)

    def authorises(self, call: str, /, **value: Any) -> str:
        return self._effect("authorised", call, **value)

    def declines(self, call: str, /, **value: Any) -> str:
        return self._effect("declined", call, **value)

    def refunds(self, charge: str, amount_minor: int, key: str | None = None) -> None:
        value = self._charges[charge] | {"what": "charge.refunded", "amount_minor": amount_minor}
        self._write("provider", "effect", value, key=key)

    def _effect(self, what: str, call: str, /, charge: str = "", **value: Any) -> str:
        order, key, index = self._calls[call]
        charge = charge or f"ch_{self._next('charge')}"
        value = {
            "charge": charge,
            "call": call,
            "operation": "charge.create",
            "amount_minor": self.amounts.get(order or "", 500),
            "currency": "EUR",
            "customer": f"cus-{order}",
            "reference": order,
            "key_honoured": True,
            **value,
        }
        self._charges[charge] = value
        what = f"charge.{what}"
        self._write("provider", "effect", {"what": what, **value}, order, "acc", key, index)
        return charge

    def replies(self, call: str, status: int = 201, **value: Any) -> None:
        value = {"what": "reply", "call": call, "status": status, **value}
        self._write("provider", "send", value, cause=self._calls[call][2])

    def drops(self, call: str, how: str = "reset") -> None:
        value = {"what": "reply", "call": call, "how": how}
        self._write("provider", "drop", value, cause=self._calls[call][2])

    def releases(self, call: str, reason: str) -> None:
        value = {"what": "call", "call": call, "seam": "on_receive", "reason": reason}
        self._write("provider", "release", value, cause=self._calls[call][2])

    def parks(self, call: str, condition: str = "arrived") -> None:
        value = {"what": "call", "call": call, "seam": "on_receive", "condition": condition}
        self._write("provider", "park", value, cause=self._calls[call][2])

    # Events.

    def event(self, charge: str, kind: str = "charge.captured") -> str:
        event = f"evt_{self._next('event')}"
        order = self._charges[charge]["reference"]
        value = {"what": "event.created", "event": event, "type": kind, "charge": charge}
        self._events[event] = (order, self._write("provider", "effect", value, order))
        return event

    def bills(self, order: str) -> None:
        """Have the provider's billing say that an order is due, which no client asked for."""
        value = {"what": "event.created", "event": f"evt_due_{order}", "type": "invoice.due"}
        self._write("provider", "effect", value, order)

    def delivers(self, event: str, **value: Any) -> str:
        attempt = f"att_{self._next('delivery')}"
        order, cause = self._events[event]
        value = {
            "what": "attempt",
            "attempt": attempt,
            "delivery": f"dlv-{event}",
            "event": event,
            "url": "http://service/webhooks",
            **value,
        }
        self._sent[attempt] = event, self._write("webhook", "send", value, order, cause=cause)
        return attempt

    def forges(self, order: str, kind: str = "charge.captured") -> str:
        """Have a stranger tell the service of something that never happened."""
        attempt = f"att_{self._next('delivery')}"
        event = f"evt_forged_{self._next('forgery')}"
        value: dict[str, Any] = {"what": "attempt", "attempt": attempt, "event": event}
        value |= {
            "type": kind,
            "charge": "ch_forged",
            "url": "http://service/webhooks",
            "forged": True,
        }
        self._sent[attempt] = event, self._write("webhook", "send", value, order)
        return attempt

    def answered(self, attempt: str, kind: Kind = "ok", **value: Any) -> None:
        event, cause = self._sent[attempt]
        value = {"what": "attempt", "attempt": attempt, "event": event, **value}
        self._write("webhook", kind, value, cause=cause)

    def hears(self, charge: str, times: int = 1) -> str:
        """Have the service acknowledge an event of the charge, so many times."""
        event = self.event(charge)
        for _ in range(times):
            self.answered(self.delivers(event), status=200)
        return event

    # The judge's own lane, faults and processes.

    def judge(self, kind: Kind, what: str, **value: Any) -> int:
        return self._write("judge", kind, {"what": what, **value})

    def phase(self, *names: str) -> None:
        for name in names:
            self.judge("invoke", "phase", phase=name)

    def key_expires(self, order: str) -> None:
        """Let the documented retention of an order's key go by."""
        self._write("judge", "invoke", {"what": "expired"}, order)

    def settles(self) -> None:
        """Heal, converge, keep quiet, and come to the reading."""
        self.phase("heal")
        self.judge("ok", "converged", after_s=0.5, bound_s=5.0)
        self.phase("quiet", "read")

    def believes(self, order: str, status: str | None = "succeeded", **value: Any) -> int:
        return self._write("judge", "read", {"what": "belief", "status": status, **value}, order)

    def fires(self, rule: str, call: str | None = None, order: str | None = None) -> None:
        value = {"what": "fired", "rule": rule, "fault": rule, "seam": "after_commit"}
        self._write("fault", "effect", value | {"call": call}, order)

    def kills(self, name: str = "app") -> None:
        self._write(f"process:{name}", "crash", {"what": "process", "pid": 1, "signal": "KILL"})

    # Whole chapters.

    def pays(self, order: str, key: str | None = None) -> str:
        """Tell of one purchase that goes well, and return its charge."""
        asked = self.asks(order)
        call = self.calls(order, key or f"up-{order}")
        charge = self.captures(call)
        self.replies(call, charge=charge)
        self.told(asked, provider_charge=charge)
        return charge

    def ends_well(self, *orders: str) -> None:
        """Settle, and have the service believe what is true of orders charged once."""
        self.settles()
        for order in orders:
            self.believes(order, effects=1, effects_minor=self.amounts[order])

    def _next(self, name: str) -> int:
        return next(self._counts.setdefault(name, itertools.count(1)))

    def _write(  # noqa: PLR0917  an entry has as many fields as it has
        self,
        lane: str,
        kind: Kind,
        value: dict[str, Any],
        order: str | None = None,
        tenant: str | None = None,
        key: str | None = None,
        cause: int | None = None,
    ) -> int:
        return self.recorder(Entry(lane, kind, value, order, tenant, key, cause))


def seen_in(records: Iterable[Record]) -> list[Seen]:
    """Return what is seen of a history while it happens."""
    watch = Watch()
    return [seen for record in records if (seen := watch.see(record))]


def untrue(records: Sequence[Record]) -> list[Seen]:
    """Return what is seen while it happens, and is not judged so at the end."""
    if not (found := seen_in(records)):
        return []
    case = case_of(records)
    judged = {each.name: each.judge(case).violations for each in invariants()}
    return [
        seen
        for seen in found
        if seen.violation.order not in {violation.order for violation in judged[seen.invariant]}
    ]


@pytest.fixture(autouse=True)
def _seen_is_judged() -> Iterator[None]:
    """See to it that of no tale told here anything is seen that is not judged so at its end."""
    Tale.told_so_far.clear()
    yield
    assert [seen for tale in Tale.told_so_far for seen in untrue(tale.records)] == []


@pytest.fixture
def tale() -> Tale:
    """Return an announced run of two orders of which nothing has been told yet."""
    return Tale("ord-1", "ord-2")


@pytest.fixture(scope="session")
def tell() -> type[Tale]:
    """Return how to begin a tale of other orders, or of another run."""
    return Tale
