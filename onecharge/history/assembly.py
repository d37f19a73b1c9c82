"""Puts a history in order: every record is taken once, then everything is given its order.

Rule 1: one pass over the records, then one over what was found; nothing is searched twice.
Rule 2: what a record means is a row of ``_TAKES``; a record without a row is left alone, since a
        later version may write it.

The fields of ``value``, beside ``what``, are those that each row's method reads. Fields that may
be missing, for whoever writes a history:

| lane    | what             | field                 | says                                       |
|---------|------------------|-----------------------|--------------------------------------------|
| client  | charge           | variant               | how the request differs; missing: not      |
| client  | refund, read, …  | amount_minor          | what was asked to be given back; none: all |
| client  | answer           | stable                | the fields that never change, by JSONPath  |
| provider| call, charge.…   | mentions              | texts in which a reference may stand       |
| webhook | attempt          | fault                 | what was done to it on its way             |
| judge   | run              | exercises             | invariants that it was planned to exercise |
| judge   | belief           | refunded_minor        | what the service says it gave back         |
| judge   | belief           | effects_by_event      | how many effects each event had, by its id |
| judge   | books            | account, currency,    | a balance that the service keeps           |
|         |                  | balance_minor         |                                            |
| judge   | expired          |                       | keys from before are beyond their          |
|         |                  |                       | documented retention                       |
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from onecharge.history.case import Case
from onecharge.history.judge_lane import belief_in, books_in, convergence_in, run_in
from onecharge.history.records import Record
from onecharge.history.story import (
    Answer,
    Attempt,
    Call,
    Charge,
    Delivering,
    Event,
    Firing,
    OrderStory,
    Refund,
)
from onecharge.history.tying import tie_charges, tie_the_rest

INVOICE_DUE: Final = "invoice.due"
"""The event by which the provider's billing, and no client, asks for an order to be charged."""


def case_of(records: Iterable[Record]) -> Case:
    """Read the records of one run as a case."""
    return _Assembly().read(records)


class _Assembly:
    """Turns records into a case, one at a time."""

    def __init__(self) -> None:
        self.case = Case()
        self._waiting: dict[int, tuple[OrderStory, Attempt]] = {}
        self._delivering: dict[str, Delivering] = {}

    def read(self, records: Iterable[Record]) -> Case:
        case = self.case
        record: Record | None = None
        meaning = _TAKES.get
        for record in records:
            lane = record.lane.partition(":")[0]
            if take := meaning((lane, record.kind, record.value.get("what", ""))):
                take(self, record)
            case.began_ns = case.began_ns or record.time_ns
        case.ended_ns = 0 if record is None else record.time_ns
        billed = {event.order for event in case.events.values() if event.type == INVOICE_DUE}
        case.sent = [each for each in case.orders.values() if each.attempts or each.order in billed]
        tie_charges(case)
        tie_the_rest(case)
        case.ledger_trouble += _imbalances(case.charges.values())
        return case

    # What clients did and heard.

    def _story(self, order: str) -> OrderStory:
        story = self.case.orders.get(order)
        if story is None:
            story = self.case.orders[order] = OrderStory(order)
        return story

    def charge(self, record: Record) -> None:
        story = self._story(record.order or record.key or record.lane)
        attempt = self._attempt(record, story, len(story.attempts) + 1)
        if not story.attempts and not story.amount_minor:
            story.amount_minor, story.currency = attempt.amount_minor, attempt.currency
        story.tenant = story.tenant or attempt.tenant
        if attempt.customer:
            story.customers.add(attempt.customer)
        story.attempts.append(attempt)

    def ask(self, record: Record) -> None:
        story = self._story(record.order or record.key or record.lane)
        story.others.append(self._attempt(record, story, len(story.others) + 1))

    def _attempt(self, record: Record, story: OrderStory, number: int) -> Attempt:
        value = record.value
        attempt = Attempt(
            lane=record.lane,
            number=value.get("attempt", number),
            invoked=record.index,
            tenant=record.tenant,
            key=record.key,
            amount_minor=value.get("amount_minor") or 0,
            currency=value.get("currency") or "",
            customer=value.get("customer"),
            variant=value.get("variant", "same"),
            operation=value["what"],
        )
        self._waiting[record.index] = story, attempt
        return attempt

    def answer(self, record: Record) -> None:
        waiting = self._waiting.pop(-1 if record.cause is None else record.cause, None)
        if waiting is None:
            return
        story, attempt = waiting
        value = record.value
        answer = attempt.answer = Answer(
            index=record.index,
            outcome=value.get("outcome", "unknown"),
            status=value.get("status"),
            charge=value.get("charge"),
            provider_charge=value.get("provider_charge"),
            error=value.get("error"),
            stable=value.get("stable"),
        )
        # A customer who asks how it went is told as well as one who presses.
        told = attempt.operation == "charge" or (
            attempt.operation == "read" and attempt.variant == "same"
        )
        if told:
            story.answers.append(answer)

    # What the provider saw and did.

    def receive(self, record: Record) -> None:
        name = _text(record, "call")
        self.case.calls[name] = Call(
            id=name,
            operation=record.value.get("operation", "unknown"),
            received=record.index,
            order=record.order,
            account=record.tenant,
            key=record.key,
            mentions=tuple(record.value.get("mentions", ())),
        )

    def release(self, record: Record) -> None:
        if call := self.case.calls.get(_text(record, "call")):
            call.released_because = record.value.get("reason")

    def reply(self, record: Record) -> None:
        if call := self.case.calls.get(_text(record, "call")):
            value = record.value
            call.ended = record.index
            call.status = value.get("status")
            call.replayed = bool(value.get("replayed"))
            call.charge = value.get("charge") or call.charge
            call.dropped = value.get("how", "drop") if record.kind == "drop" else None

    def effect(self, record: Record) -> None:
        value = record.value
        name = _text(record, "charge")
        charge = self.case.charges.get(name)
        if charge is None:
            call = self.case.calls.get(_text(record, "call"))
            charge = self.case.charges[name] = _born(name, record, call)
            if call:
                call.charge = name
        amount_minor = value.get("amount_minor", 0)
        match record.what:
            case "charge.captured":
                charge.captured = record.index if charge.captured is None else charge.captured
                charge.captured_minor += amount_minor
            case "charge.refunded":
                charge.refunded_minor += amount_minor
                refund = Refund(record.index, amount_minor, value.get("call"), record.key)
                charge.refunds.append(refund)
            case "charge.declined":
                charge.declined = record.index
            case _:
                pass  # authorised, pending, cancelled: no money moved

    def event(self, record: Record) -> None:
        name = _text(record, "event")
        self.case.events[name] = Event(
            id=name,
            type=record.value.get("type", ""),
            created=record.index,
            charge=record.value.get("charge"),
            order=record.order,
        )

    def deliver(self, record: Record) -> None:
        value = record.value
        delivering = Delivering(
            attempt=_text(record, "attempt"),
            endpoint=str(value.get("url") or value.get("delivery") or ""),
            event=_text(record, "event"),
            sent=record.index,
            forged=bool(value.get("forged")),
            faults=(str(value["fault"]),) if value.get("fault") else (),
        )
        self._delivering[delivering.attempt] = delivering
        event = self.case.events.get(delivering.event)
        if event is None and delivering.forged:  # nobody announced it: it never happened
            self.event(record)
            event = self.case.events[delivering.event]
        if event is not None:
            event.attempts.append(delivering)

    def delivered(self, record: Record) -> None:
        if delivering := self._delivering.get(_text(record, "attempt")):
            delivering.ended = record.index
            delivering.acknowledged = record.kind == "ok"
            delivering.status = record.value.get("status")

    def fired(self, record: Record) -> None:
        value = record.value
        if struck := self._delivering.get(_text(record, "attempt")):
            struck.faults += (_text(record, "fault"),)
        self.case.firings.append(
            Firing(
                index=record.index,
                rule=_text(record, "rule"),
                fault=_text(record, "fault"),
                seam=_text(record, "seam"),
                order=record.order,
                call=value.get("call"),
            )
        )

    # What the judge wrote down.

    def begin(self, record: Record) -> None:
        self.case.run = run_in(record.value)
        for planted in record.value.get("orders", ()):
            self._announce(planted)

    def phase(self, record: Record) -> None:
        self.case.phases.setdefault(_text(record, "phase"), record.index)

    def converged(self, record: Record) -> None:
        self.case.converged = convergence_in(record)

    def overdue(self, record: Record) -> None:
        self.case.overdue = convergence_in(record)

    def believed(self, record: Record) -> None:
        if record.order is not None:
            self._story(record.order).beliefs.append(belief_in(record))

    def balance(self, record: Record) -> None:
        self.case.books.append(books_in(record))

    def scatter(self, record: Record) -> None:
        self.case.hosts = tuple(str(host) for host in record.value.get("hosts", ()))

    def expire(self, record: Record) -> None:
        self.case.expiries.append(record.index)

    def unbalanced(self, record: Record) -> None:
        self.case.ledger_trouble.append(str(record.value.get("says", "it does not balance")))

    def crash(self, record: Record) -> None:
        self.case.crashes.append(record.index)

    def _announce(self, planted: Mapping[str, Any]) -> None:
        story = self._story(planted["order"])
        story.tenant = planted.get("tenant")
        story.amount_minor = planted.get("amount_minor", 0)
        story.currency = planted.get("currency", "")
        if customer := planted.get("customer"):
            story.customers.add(customer)


_TAKES: Final[dict[tuple[str, str, str], Callable[[_Assembly, Record], None]]] = {
    ("client", "invoke", "charge"): _Assembly.charge,
    **{("client", "invoke", what): _Assembly.ask for what in ("refund", "capture", "read")},
    **{("client", kind, "answer"): _Assembly.answer for kind in ("ok", "fail", "unknown")},
    ("provider", "receive", "call"): _Assembly.receive,
    ("provider", "release", "call"): _Assembly.release,
    ("provider", "send", "reply"): _Assembly.reply,
    ("provider", "drop", "reply"): _Assembly.reply,
    **{
        ("provider", "effect", f"charge.{what}"): _Assembly.effect
        for what in ("authorised", "pending", "captured", "declined", "cancelled", "refunded")
    },
    ("provider", "effect", "event.created"): _Assembly.event,
    ("webhook", "send", "attempt"): _Assembly.deliver,
    **{("webhook", kind, "attempt"): _Assembly.delivered for kind in ("ok", "fail", "unknown")},
    ("fault", "effect", "fired"): _Assembly.fired,
    ("process", "crash", "process"): _Assembly.crash,
    ("judge", "invoke", "run"): _Assembly.begin,
    ("judge", "invoke", "phase"): _Assembly.phase,
    ("judge", "ok", "converged"): _Assembly.converged,
    ("judge", "unknown", "converged"): _Assembly.overdue,
    ("judge", "unknown", "ledger"): _Assembly.unbalanced,
    ("judge", "unknown", "clock"): _Assembly.scatter,
    ("judge", "invoke", "expired"): _Assembly.expire,
    ("judge", "read", "belief"): _Assembly.believed,
    ("judge", "read", "books"): _Assembly.balance,
}


def _born(name: str, record: Record, call: Call | None) -> Charge:
    value = record.value
    return Charge(
        id=name,
        created=record.index,
        began=call.received if call else record.index,
        call=value.get("call"),
        key=record.key,
        account=record.tenant,
        amount_minor=value.get("amount_minor", 0),
        currency=value.get("currency", ""),
        customer=value.get("customer"),
        reference=value.get("reference") or record.order,
        intent=value.get("intent"),
        mentions=tuple(value.get("mentions", ())),
        key_honoured=value.get("key_honoured", True),
    )


def _imbalances(charges: Iterable[Charge]) -> list[str]:
    """Check the provider, which is ours: more given back than taken is our own bug."""
    return [
        f"{charge.id}: {charge.refunded_minor} given back of {charge.captured_minor} taken"
        for charge in charges
        if charge.kept_minor < 0
    ]


def _text(record: Record, name: str) -> str:
    return str(record.value.get(name, ""))
