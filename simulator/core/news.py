"""The news of what happened: events, and the attempts to tell the endpoints of them.

Rule 1: an event is born together with its effect and is due at once, so the news may well
        arrive before the answer to the call that caused it.
Rule 2: this file begins attempts and takes in their outcomes; the sending is the shell's.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never

from simulator.core.calls import EventParams, ListEvents, ReadEvent, ResendEvent
from simulator.core.deliveries import (
    Answered,
    Attempt,
    AttemptOutcome,
    Deliveries,
    Delivery,
    NoAnswer,
    Turn,
)
from simulator.core.events import Event
from simulator.core.faults import Copies, DeliveryBend, Missign, Withhold
from simulator.core.journal import PROVIDER, WEBHOOK, Entry, Kind, Sink
from simulator.core.results import EventResent, EventShown, EventsListed, Problem, Result
from simulator.core.shelf import Shelf

if TYPE_CHECKING:
    from simulator.core.bank import Change
    from simulator.core.calls import Call
    from simulator.core.desk_results import Notice
    from simulator.core.dialect import Dialect
    from simulator.core.rules import Plan, Rule


class News:
    """Every event, who is to be told of it, and how that went."""

    def __init__(self, dialect: "Dialect", plan: "Plan", sink: Sink, namespace: str = "") -> None:
        self.deliveries = Deliveries(dialect.schedule_s)
        self._dialect = dialect
        self._plan = plan
        self._sink = sink
        self._namespace = namespace
        self._events: dict[str, Event] = {}
        self.shelf: Shelf[Event] = Shelf("event", "evt", namespace)  # what a desk has told
        self._attempts = 0

    @property
    def events(self) -> Mapping[str, Event]:
        """Every event by id, oldest first."""
        return MappingProxyType(self._events)

    def born(self, change: "Change", call: "Call", now: float) -> Event:
        """Write down that something became true, and owe the news of it to the endpoints."""
        charge = change.charge
        event_id = f"evt_{self._namespace}{len(self._events) + 1}"
        value = {
            "what": "event.created",
            "event": event_id,
            "type": change.fact,
            "charge": charge.id,
        }
        cause = self._sink(
            Entry(PROVIDER, "effect", value, charge.reference, charge.account, call.key, call.cause)
        )
        event = Event(event_id, change.fact, charge, change.refund, now, cause)
        self._events[event_id] = event
        if self.deliveries.endpoints:
            self.owe(event, now)
        return event

    def tell(self, notice: "Notice", call: "Call", now: float, *, asked: bool) -> Event:
        """Write down a piece of the desk's news, and owe it to the endpoints.

        ``asked``: it is the answer to a call, not something the bank decided later by itself.
        """
        event_id = f"evt_{self._namespace}{len(self._events) + 1}"
        type_ = self._dialect.event_type(notice.name)
        order, account = notice.about.reference, notice.about.account
        change = notice.change
        charge = change.charge if change else None
        value = {
            "what": "event.created",
            "event": event_id,
            "type": type_,
            "charge": charge.id if charge else None,
        }
        cause = self._sink(Entry(PROVIDER, "effect", value, order, account, call.key, call.cause))
        event = Event(
            event_id,
            type_,
            charge,
            change.refund if change else None,
            now,
            cause,
            notice.about,
            change.fact if change else notice.name,
            call.id if asked else None,
            call.key if asked else None,
        )
        self._events[event_id] = event
        self.shelf.put(event)
        self.owe(event, now)
        return event

    def owe(self, event: Event, now: float) -> list[Delivery]:
        """Take on the duty to tell every endpoint there is now."""
        owed: list[Delivery] = []
        for endpoint in self.deliveries.endpoints_for(event):
            delivery = Delivery(f"dlv-{len(self.deliveries.by_id) + 1}", event, endpoint)
            self.deliveries.owe(delivery, now)
            owed.append(delivery)
        return owed

    def answer(self, params: EventParams, account: str, now: float) -> Result:
        """Show one event or several to their account, or deliver one again."""
        match params:
            case ListEvents(wanted):
                events = (e for e in self._events.values() if e.account == account)
                shown = [self._show(event) for event in events]
                return EventsListed(
                    tuple(each for each in shown if wanted in (None, each.delivered))
                )
            case ReadEvent(event_id):
                event = self.find(event_id, account)
                return self._show(event) if event else _no_such(event_id)
            case ResendEvent(event_id):
                event = self.find(event_id, account)
                if event is None:
                    return _no_such(event_id)
                self.owe(event, now)
                return EventResent(event, self.deliveries.delivered(event_id))
            case _:
                assert_never(params)

    def find(self, event_id: str, account: str) -> Event | None:
        """Return an event if this account has it."""
        event = self._events.get(event_id)
        return event if event and event.account == account else None

    def attempts_due(self, now: float) -> list[Attempt]:
        """Begin every attempt that is due."""
        attempts: list[Attempt] = []
        while (turn := self.deliveries.next_due(now)) is not None:
            attempts += self._begun(turn, now)
        return attempts

    def attempt_finished(self, attempt: Attempt, outcome: AttemptOutcome, now: float) -> None:
        """Take in what became of an attempt. Told twice, the second time means nothing."""
        acknowledged = False
        match outcome:
            case Answered(status, body):
                acknowledged = self._dialect.acknowledged(status, body)
                kind: Kind = "ok" if acknowledged else "fail"
                told: dict[str, Any] = {"status": status}
            case NoAnswer(error):
                kind, told = "unknown", {"error": error}
            case _:
                assert_never(outcome)
        if not self.deliveries.in_flight(attempt.id):
            return
        value = {"what": "attempt", "attempt": attempt.id, "event": attempt.event.id, **told}
        order, account = attempt.order, attempt.account
        self._sink(Entry(WEBHOOK, kind, value, order, account, cause=attempt.cause))
        self.deliveries.finish(attempt.id, now, acknowledged=acknowledged)

    def _begun(self, turn: Turn, now: float) -> list[Attempt]:
        """Begin the attempts of one turn: one, unless a fault wants none or several at once."""
        delivery = turn.delivery
        secrets, together = delivery.endpoint.secrets(now), 1
        fired: list[Rule] = []
        for rule, bend in self._bends(delivery, now):
            fired.append(rule)
            match bend:
                case Copies(count, concurrent):
                    together = count if concurrent else 1
                    delivery.in_turn = 1 if concurrent else count
                case Missign():
                    secrets = (self._dialect.foreign_secret,)
                case Withhold():
                    delivery.withheld = True
                case _:
                    assert_never(bend)

        attempts: list[Attempt] = []
        if not delivery.withheld:
            attempts.append(self._begin(turn, secrets))
            for copy in range(turn.copy + 1, turn.copy + together):
                extra = Turn(delivery, copy, turn.tries)
                attempts.append(self._begin(extra, delivery.endpoint.secrets(now)))
        about = {"attempt": attempts[0].id} if attempts else {"delivery": delivery.id}
        cause = attempts[0].cause if attempts else delivery.event.cause
        order, tenant = delivery.event.order, delivery.event.account
        for rule in fired:
            self._sink(rule.struck("on_delivery", about, order=order, tenant=tenant, cause=cause))
        return attempts

    def _bends(self, delivery: Delivery, now: float) -> Iterator[tuple["Rule", DeliveryBend]]:
        event = delivery.event
        type_, fact = f"delivery.{event.type}", f"delivery.{event.fact or event.type}"
        for armed in self._plan.matching("on_delivery", type_, event.order, fact):
            bend = armed.rule.fault.on_delivery(delivery)
            if bend is not None and self._plan.fires(armed, now):
                yield armed.rule, bend

    def _begin(self, turn: Turn, secrets: tuple[str, ...]) -> Attempt:
        delivery, event = turn.delivery, turn.delivery.event
        self._attempts += 1
        attempt_id = f"att-{self._attempts}"
        number = self.deliveries.begin(attempt_id, turn)
        value = {
            "what": "attempt",
            "attempt": attempt_id,
            "delivery": delivery.id,
            "number": number,
            "event": event.id,
            "type": event.type,
            "charge": event.charge_id,
            "url": delivery.endpoint.url,
            "forged": False,
            "copy": turn.copy,
        }
        cause = self._sink(
            Entry(WEBHOOK, "send", value, event.order, event.account, cause=event.cause)
        )
        return Attempt(
            attempt_id,
            delivery.id,
            number,
            turn.copy,
            event,
            delivery.endpoint.url,
            secrets,
            cause,
        )

    def _show(self, event: Event) -> EventShown:
        return EventShown(event, self.deliveries.delivered(event.id))


def _no_such(event_id: str) -> Problem:
    return Problem("not_found", f"no event {event_id}")
