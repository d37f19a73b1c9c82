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
| judge   | expired          |                       | what was sent for the order before is      |
|         |                  |                       | beyond the documented retention of its key |
"""

from collections.abc import Callable, Iterable, Mapping
from sys import intern
from typing import Any, Final

from onecharge.history.case import Case
from onecharge.history.judge_lane import belief_in, convergence_in, run_in
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
    return Assembly().read(records)


_LANES: Final = frozenset({"provider", "webhook", "fault", "judge"})
"""The lanes that there is one of; of the others, the name before the colon says whose they are."""


class Assembly:
    """Turns records into a case, one at a time."""

    def __init__(self) -> None:
        self.case = Case()
        self._waiting: dict[int, tuple[OrderStory, Attempt]] = {}
        self._delivering: dict[str, Delivering] = {}

    def read(self, records: Iterable[Record]) -> Case:
        """Take all records, then give everything its order."""
        case = self.case
        for record in records:
            self.take(record)
        billed = {event.order for event in case.events.values() if event.type == INVOICE_DUE}
        case.sent = [each for each in case.orders.values() if each.attempts or each.order in billed]
        tie_charges(case)
        tie_the_rest(case)
        case.ledger_trouble += _imbalances(case.charges.values())
        return case

    def take(self, record: Record) -> None:
        """Put one record where it belongs."""
        case = self.case
        lane = record.lane
        if lane not in _LANES:
            lane = lane.partition(":")[0]
        if take := _TAKES.get((lane, record.kind, record.value.get("what", ""))):
            take(self, record)
        if not case.began_ns:
            case.began_ns = record.time_ns
        case.ended_ns = record.time_ns

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
        if attempt.customer and attempt.customer not in story.customers:
            story.customers += (attempt.customer,)
        story.attempts.append(attempt)

    def ask(self, record: Record) -> None:
        story = self._story(record.order or record.key or record.lane)
        story.others.append(self._attempt(record, story, len(story.others) + 1))

    def _attempt(self, record: Record, story: OrderStory, number: int) -> Attempt:
        said = record.value.get
        attempt = Attempt(
            lane=record.lane,
            number=said("attempt", number),
            invoked=record.index,
            tenant=_one(record.tenant),
            key=record.key,
            amount_minor=said("amount_minor") or 0,
            currency=_one(said("currency") or ""),
            customer=said("customer"),
            variant=said("variant", "same"),
            operation=record.value["what"],
        )
        self._waiting[record.index] = story, attempt
        return attempt

    def answer(self, record: Record) -> None:
        said = record.value.get
        waiting = self._waiting.pop(-1 if record.cause is None else record.cause, None)
        if waiting is None:
            return
        story, attempt = waiting
        answer = Answer(
            index=record.index,
            outcome=_one(said("outcome", "unknown")),
            status=said("status"),
            charge=said("charge"),
            provider_charge=said("provider_charge"),
            error=said("error"),
            stable=said("stable"),
        )
        attempt.hear(answer)
        # A customer who asks how it went is told as well as one who presses.
        told = attempt.operation == "charge" or (
            attempt.operation == "read" and attempt.variant == "same"
        )
        if told:
            story.answers.append(answer)

    # What the provider saw and did.

    def receive(self, record: Record) -> None:
        said = record.value.get
        name = said("call", "")
        self.case.calls[name] = Call(
            id=name,
            operation=_one(said("operation", "unknown")),
            received=record.index,
            order=record.order,
            account=_one(record.tenant),
            key=record.key,
            mentions=tuple(said("mentions", ())),
        )

    def release(self, record: Record) -> None:
        said = record.value.get
        if call := self.case.calls.get(said("call", "")):
            call.released_because = said("reason")

    def reply(self, record: Record) -> None:
        said = record.value.get
        if call := self.case.calls.get(said("call", "")):
            call.ended = record.index
            call.status = said("status")
            call.replayed = bool(said("replayed"))
            call.charge = said("charge") or call.charge
            call.dropped = said("how", "drop") if record.kind == "drop" else None

    def effect(self, record: Record) -> None:
        said = record.value.get
        name = said("charge", "")
        charge = self.case.charges.get(name)
        if charge is None:
            call = self.case.calls.get(said("call", ""))
            charge = self.case.charges[name] = _born(name, record, call)
            if call:
                call.charge = name
        amount_minor = said("amount_minor", 0)
        match said("what"):
            case "charge.captured":
                charge.captured = record.index if charge.captured is None else charge.captured
                charge.captured_minor += amount_minor
            case "charge.refunded":
                charge.refunded_minor += amount_minor
                refund = Refund(record.index, amount_minor, said("call"), record.key)
                charge.refunds.append(refund)
            case "charge.declined":
                charge.declined = record.index
            case _:
                pass  # authorised, pending, cancelled: no money moved

    def event(self, record: Record) -> None:
        said = record.value.get
        name = said("event", "")
        self.case.events[name] = Event(
            id=name,
            type=_one(said("type", "")),
            created=record.index,
            charge=said("charge"),
            order=record.order,
        )

    def deliver(self, record: Record) -> None:
        said = record.value.get
        delivering = Delivering(
            attempt=said("attempt", ""),
            endpoint=_one(str(said("url") or said("delivery") or "")),
            event=said("event", ""),
            sent=record.index,
            forged=bool(said("forged")),
            faults=(str(said("fault")),) if said("fault") else (),
        )
        self._delivering[delivering.attempt] = delivering
        event = self.case.events.get(delivering.event)
        if event is None and delivering.forged:  # nobody announced it: it never happened
            self.event(record)
            event = self.case.events[delivering.event]
        if event is not None:
            event.attempts.append(delivering)

    def delivered(self, record: Record) -> None:
        said = record.value.get
        if delivering := self._delivering.get(said("attempt", "")):
            delivering.ended = record.index
            delivering.acknowledged = record.kind == "ok"
            delivering.status = said("status")

    def fired(self, record: Record) -> None:
        said = record.value.get
        if struck := self._delivering.get(said("attempt", "")):
            struck.faults += (said("fault", ""),)
        self.case.firings.append(
            Firing(
                index=record.index,
                rule=said("rule", ""),
                fault=said("fault", ""),
                seam=said("seam", ""),
                order=record.order,
                call=said("call"),
            )
        )

    # What the judge wrote down.

    def begin(self, record: Record) -> None:
        self.case.run = run_in(record.value)
        for planted in record.value.get("orders", ()):
            self._announce(planted)

    def phase(self, record: Record) -> None:
        self.case.phases.setdefault(record.value.get("phase", ""), record.index)

    def converged(self, record: Record) -> None:
        self.case.converged = convergence_in(record)

    def overdue(self, record: Record) -> None:
        self.case.overdue = convergence_in(record)

    def believed(self, record: Record) -> None:
        if record.order is not None:
            self._story(record.order).beliefs.append(belief_in(record))

    def scatter(self, record: Record) -> None:
        self.case.hosts = tuple(str(host) for host in record.value.get("hosts", ()))

    def expire(self, record: Record) -> None:
        self.case.expiries.setdefault(record.order or "", []).append(record.index)

    def unbalanced(self, record: Record) -> None:
        says = record.value.get("says", "it does not balance")
        self.case.ledger_trouble.append(str(says))

    def crash(self, record: Record) -> None:
        self.case.crashes.append(record.index)

    def _announce(self, planted: Mapping[str, Any]) -> None:
        story = self._story(planted["order"])
        story.tenant = planted.get("tenant")
        story.amount_minor = planted.get("amount_minor", 0)
        story.currency = planted.get("currency", "")
        if customer := planted.get("customer"):
            story.customers += (customer,)


_TAKES: Final[dict[tuple[str, str, str], Callable[[Assembly, Record], None]]] = {
    ("client", "invoke", "charge"): Assembly.charge,
    **{("client", "invoke", what): Assembly.ask for what in ("refund", "capture", "read")},
    **{("client", kind, "answer"): Assembly.answer for kind in ("ok", "fail", "unknown")},
    ("provider", "receive", "call"): Assembly.receive,
    ("provider", "release", "call"): Assembly.release,
    ("provider", "send", "reply"): Assembly.reply,
    ("provider", "drop", "reply"): Assembly.reply,
    **{
        ("provider", "effect", f"charge.{what}"): Assembly.effect
        for what in ("authorised", "pending", "captured", "declined", "cancelled", "refunded")
    },
    ("provider", "effect", "event.created"): Assembly.event,
    ("webhook", "send", "attempt"): Assembly.deliver,
    **{("webhook", kind, "attempt"): Assembly.delivered for kind in ("ok", "fail", "unknown")},
    ("fault", "effect", "fired"): Assembly.fired,
    ("process", "crash", "process"): Assembly.crash,
    ("judge", "invoke", "run"): Assembly.begin,
    ("judge", "invoke", "phase"): Assembly.phase,
    ("judge", "ok", "converged"): Assembly.converged,
    ("judge", "unknown", "converged"): Assembly.overdue,
    ("judge", "unknown", "ledger"): Assembly.unbalanced,
    ("judge", "unknown", "clock"): Assembly.scatter,
    ("judge", "invoke", "expired"): Assembly.expire,
    ("judge", "read", "belief"): Assembly.believed,
}


def _one(word: Any) -> Any:
    """Return one object for what comes again and again, so that a long history has room for it."""
    return intern(word) if type(word) is str else word


def _born(name: str, record: Record, call: Call | None) -> Charge:
    said = record.value.get
    return Charge(
        id=name,
        created=record.index,
        began=call.received if call else record.index,
        call=said("call"),
        key=record.key,
        account=_one(record.tenant),
        amount_minor=said("amount_minor", 0),
        currency=_one(said("currency", "")),
        customer=said("customer"),
        reference=said("reference") or record.order,
        intent=said("intent"),
        mentions=tuple(said("mentions", ())),
        key_honoured=said("key_honoured", True),
    )


def _imbalances(charges: Iterable[Charge]) -> list[str]:
    """Check the provider, which is ours: more given back than taken is our own bug."""
    return [
        f"{charge.id}: {charge.refunded_minor} given back of {charge.captured_minor} taken"
        for charge in charges
        if charge.kept_minor < 0
    ]
