"""The news of what happened: events, and the attempts to tell the endpoints of them.

Rule 1: an event is born together with its effect and is due at once, so the news may well
        arrive before the answer to the call that caused it.
Rule 2: this file begins attempts and takes in their outcomes; the sending is the shell's.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, assert_never

from simulator.core.calls import EventParams, ListEvents, ReadEvent, ResendEvent
from simulator.core.chronicle import Chronicle
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
from simulator.core.faults import (
    Copies,
    DeliveryBend,
    Emit,
    Guise,
    Postpone,
    Tamper,
    Withhold,
)
from simulator.core.guises import disguised
from simulator.core.invoices import INVOICE_DUE
from simulator.core.journal import PROVIDER, WEBHOOK, Entry, Kind, Sink
from simulator.core.results import EventResent, EventShown, EventsListed, Problem, Result
from simulator.core.rules import asked_for
from simulator.core.shelf import Shelf

if TYPE_CHECKING:
    from simulator.core.bank import Change
    from simulator.core.calls import Call
    from simulator.core.charges import Charge
    from simulator.core.deliveries import Endpoint
    from simulator.core.desk_results import Newsworthy, Notice
    from simulator.core.dialect import Dialect
    from simulator.core.invoices import Invoice
    from simulator.core.rules import Plan, Rule


@dataclass(slots=True)
class _Manner:
    """How one turn is taken: plainly, unless faults want it otherwise."""

    together: int = 1
    tamper: Tamper = field(default_factory=Tamper)
    emit: list[Emit] = field(default_factory=list)
    fired: "list[Rule]" = field(default_factory=list)
    put_off: bool = False


class _Latest:
    """The latest event that anybody is told of, and the one before it that differs in a trait."""

    def __init__(self, trait: Callable[[Event], str]) -> None:
        self._trait = trait
        self._latest: Event | None = None
        self._before: Event | None = None

    def see(self, event: Event) -> None:
        """Take in an event that somebody is to be told of."""
        if self._latest is not None and self._trait(self._latest) != self._trait(event):
            self._before = self._latest
        self._latest = event

    def other_than(self, event: Event) -> str | None:
        """Return the id of an event that differs from this one, if there has been one."""
        for earlier in (self._latest, self._before):
            if earlier is not None and self._trait(earlier) != self._trait(event):
                return earlier.id
        return None


class News:
    """Every event, who is to be told of it, and how that went."""

    def __init__(self, dialect: "Dialect", plan: "Plan", sink: Sink, namespace: str = "") -> None:
        self.deliveries = Deliveries(dialect.schedule_s)
        self._dialect = dialect
        self._plan = plan
        self._sink = sink
        self._namespace = namespace
        self._chronicle = Chronicle(self.deliveries.delivered)
        self.shelf: Shelf[Event] = Shelf("event", "evt", namespace)  # what a desk has told
        self._attempts = 0
        self._by_account = _Latest(lambda event: event.account)
        self._by_order = _Latest(lambda event: event.order or event.about.id)

    @property
    def events(self) -> Mapping[str, Event]:
        """Every event by id, oldest first."""
        return self._chronicle.by_id

    def born(self, change: "Change", call: "Call", now: float) -> Event:
        """Write down that something became true, and owe the news of it to the endpoints."""
        charge, fact = change.charge, change.fact
        event_id = self._next_id()
        cause = self._birth(event_id, fact, charge, charge.id, key=call.key, cause=call.cause)
        event = Event(event_id, fact, charge, change.refund, now, cause, call.faults)
        self._chronicle.keep(event)
        if self.deliveries.endpoints:
            self.owe(event, now)
        return event

    def tell(self, notice: "Notice", call: "Call", now: float, *, asked: bool) -> Event:
        """Write down a piece of the desk's news, and owe it to the endpoints.

        ``asked``: it is the answer to a call, not something the bank decided later by itself.
        """
        event_id, type_ = self._next_id(), self._dialect.event_type(notice.name)
        about, change = notice.about, notice.change
        charge = change.charge if change else None
        charge_id = charge.id if charge else None
        cause = self._birth(event_id, type_, about, charge_id, key=call.key, cause=call.cause)
        event = Event(
            event_id,
            type_,
            charge,
            change.refund if change else None,
            now,
            cause,
            call.faults,
            about,
            change.fact if change else notice.name,
            call.id if asked else None,
            call.key if asked else None,
        )
        self._chronicle.keep(event)
        self.shelf.put(event)
        self.owe(event, now)
        return event

    def bill(self, invoice: "Invoice", now: float) -> Event:
        """Write down that an invoice is due, and owe the news of it to the endpoints."""
        event_id = self._next_id()
        cause = self._birth(event_id, INVOICE_DUE, invoice, None, cause=None)
        event = Event(event_id, INVOICE_DUE, None, None, now, cause, thing=invoice)
        self._chronicle.keep(event)
        self.owe(event, now)
        return event

    def owe(self, event: Event, now: float) -> list[Delivery]:
        """Take on the duty to tell every endpoint there is now."""
        return [
            self._owe(event, endpoint, now) for endpoint in self.deliveries.endpoints_for(event)
        ]

    def repeat(
        self, event: Event, now: float, *, copies: int, concurrent: bool, new_id: bool
    ) -> list[Delivery]:
        """Deliver an event so many times more; with ``new_id`` each time as another event."""
        if new_id:
            guise = Guise(renewed=True)
            again = [self._emit(event, guise, now) for _ in range(copies)]
            return [delivery for each in again for delivery in self.owe(each, now)]
        owed = [] if concurrent else self.owe(event, now)
        for delivery in owed:
            delivery.in_turn = copies
        return [d for _ in range(copies) for d in self.owe(event, now)] if concurrent else owed

    def forge(self, event: Event, tamper: Tamper, now: float) -> list[Attempt]:
        """Begin to tell the endpoints of an event that never was, as a stranger would."""
        attempts = []
        for endpoint in self.deliveries.endpoints_for(event):
            delivery = self._delivery_of(event, endpoint)
            delivery.forged = True
            self.deliveries.by_id[delivery.id] = delivery
            attempts.append(self._begin(Turn(delivery), tamper, now))
        return attempts

    def answer(self, params: EventParams, account: str, now: float) -> Result:
        """Show one event or several to their account, or deliver one again."""
        match params:
            case ListEvents(delivered):
                listed = self._chronicle.of(account, delivered=delivered)
                return EventsListed(
                    tuple(self._show(event) for event in listed if self.is_shown(event, now))
                )
            case ReadEvent(event_id):
                event = self.find(event_id, account)
                if event is None or not self.is_shown(event, now):
                    return _no_such(event_id)
                return self._show(event)
            case ResendEvent(event_id):
                event = self.find(event_id, account)
                if event is None or not self.is_shown(event, now):
                    return _no_such(event_id)
                self.owe(event, now)
                return EventResent(event, self.deliveries.delivered(event_id))
            case _:
                assert_never(params)

    def find(self, event_id: str, account: str) -> Event | None:
        """Return an event if this account has it."""
        return self._chronicle.find(event_id, account)

    def is_shown(self, event: Event, now: float) -> bool:
        """Tell whether this provider still shows an event to who asks; it may yet deliver it."""
        return now - event.created_s < self._dialect.events_shown_s

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
        manner = self._manner(turn, now)
        attempts: list[Attempt] = []
        if not delivery.withheld and not manner.put_off:
            attempts.append(self._begin(turn, manner.tamper, now))
            copies = range(turn.copy + 1, turn.copy + manner.together)
            attempts += [self._begin(Turn(delivery, n, turn.tries), Tamper(), now) for n in copies]
        about = {"attempt": attempts[0].id} if attempts else {"delivery": delivery.id}
        cause = attempts[0].cause if attempts else delivery.event.cause
        order, tenant = delivery.event.order, delivery.event.account
        for rule in manner.fired:
            self._sink(rule.struck("on_delivery", about, order=order, tenant=tenant, cause=cause))
        for emit in manner.emit:
            self._tell_more(emit, delivery, now)
        return attempts

    def _manner(self, turn: Turn, now: float) -> _Manner:
        """Ask every fault in force how this turn is to be taken, until one puts it off."""
        delivery, manner = turn.delivery, _Manner()
        delivery.overtakes = self.deliveries.is_awaited(delivery)
        for rule, bend in self._bends(delivery, now):
            manner.fired.append(rule)
            match bend:
                case Copies(count, concurrent, gap_s):
                    manner.together = count if concurrent else 1
                    delivery.in_turn = 1 if concurrent else count
                    delivery.gap_s = gap_s
                case Tamper():
                    manner.tamper = bend
                case Emit(place="before"):
                    manner.emit.append(bend)
                    manner.put_off = True
                    delivery.postponed += 1
                case Emit():
                    manner.emit.append(bend)
                case Postpone(delay_s, until_overtaken):
                    manner.put_off = True
                    self.deliveries.postpone(turn, now + delay_s, until_overtaken=until_overtaken)
                case Withhold():
                    delivery.withheld = True
                case _:
                    assert_never(bend)
            if manner.put_off:
                break
        return manner

    def _tell_more(self, emit: Emit, delivery: Delivery, now: float) -> None:
        """Take on the duty to tell the endpoint of further events, when their place has come."""
        for guise in emit.guises:
            more = self._emit(delivery.event, guise, now)
            match emit.place:
                case "together":
                    self._owe(more, delivery.endpoint, now)
                case "after":
                    follower = self._delivery_of(more, delivery.endpoint)
                    self.deliveries.expect(follower)
                    delivery.followers += (Turn(follower),)
                case "before":
                    leader = self._owe(more, delivery.endpoint, now)
                    leader.followers += (Turn(delivery),)
                case _:
                    assert_never(emit.place)

    def _emit(self, event: Event, guise: Guise, now: float) -> Event:
        """Make one more event of an event, and write it down."""
        seen, event_id = disguised(event, guise, now, self._dialect.event_type), self._next_id()
        original = event.repeats or event.id
        cause = self._birth(
            event_id, seen.type, seen.about, seen.charge_id, cause=event.cause, repeats=original
        )
        more = replace(seen, id=event_id, cause=cause, repeats=original, faults=())
        self._chronicle.keep(more)
        if more.thing is not None:
            self.shelf.put(more)
        return more

    def _birth(
        self,
        event_id: str,
        type_: str,
        about: "Charge | Newsworthy",
        charge: str | None,
        *,
        key: str | None = None,
        cause: int | None,
        repeats: str | None = None,
    ) -> int:
        """Write down that an event is born, and return the index of that record."""
        value = {"what": "event.created", "event": event_id, "type": type_, "charge": charge}
        if repeats is not None:
            value["repeats"] = repeats
        order, account = about.reference, about.account
        return self._sink(Entry(PROVIDER, "effect", value, order, account, key, cause))

    def _next_id(self) -> str:
        return f"evt_{self._namespace}{len(self._chronicle) + 1}"

    def _owe(self, event: Event, endpoint: "Endpoint", now: float) -> Delivery:
        delivery = self._delivery_of(event, endpoint)
        if self.deliveries.delivered(event.id):
            self._chronicle.owed_anew(event)
        self._by_account.see(event)
        self._by_order.see(event)
        self.deliveries.owe(delivery, now)
        return delivery

    def _delivery_of(self, event: Event, endpoint: "Endpoint") -> Delivery:
        """Return a new duty, which nobody has taken on yet."""
        delivery = Delivery(f"dlv-{len(self.deliveries.by_id) + 1}", event, endpoint)
        delivery.foreign_id = self._by_account.other_than(event)
        delivery.other_id = self._by_order.other_than(event)
        return delivery

    def _bends(self, delivery: Delivery, now: float) -> Iterator[tuple["Rule", DeliveryBend]]:
        event = delivery.event
        type_, fact = f"delivery.{event.type}", f"delivery.{event.neutral_name}"
        rules = self._plan.matching("on_delivery", type_, event.order, fact)
        for armed in chain(rules, asked_for(event.faults, "on_delivery")):
            bend = armed.rule.fault.on_delivery(delivery)
            if bend is not None and self._plan.fires(armed, now):
                yield armed.rule, bend

    def _begin(self, turn: Turn, tamper: Tamper, now: float) -> Attempt:
        delivery, event = turn.delivery, turn.delivery.event
        if tamper.guise is not None:
            event = disguised(event, tamper.guise, event.created_s, self._dialect.event_type)
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
            "forged": delivery.forged,
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
            self._secrets(delivery.endpoint, tamper, now),
            cause,
            tamper,
        )

    def _secrets(self, endpoint: "Endpoint", tamper: Tamper, now: float) -> tuple[str, ...]:
        """Return what an attempt is signed with."""
        match tamper.signature:
            case "right" | "missing" | "old":
                return endpoint.secrets(now)
            case "wrong":
                return (self._dialect.foreign_secret,)
            case "foreign":
                another = self.deliveries.another_secret(endpoint)
                return (another or self._dialect.foreign_secret,)
            case _:
                assert_never(tamper.signature)

    def _show(self, event: Event) -> EventShown:
        return EventShown(event, self.deliveries.delivered(event.id))


def _no_such(event_id: str) -> Problem:
    return Problem("not_found", f"no event {event_id}")
