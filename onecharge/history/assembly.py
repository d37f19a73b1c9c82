"""Puts a history in order: every record is taken once, then everything is given its order.

Rule 1: one pass over the records, then one over what was found; nothing is searched twice.
Rule 2: what a record means is a row of ``_TAKES``; a record without a row is left alone, since a
        later version may write it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from onecharge.history.attribution import Clues, Planted, attribute
from onecharge.history.case import CAPABILITIES, Case, Convergence, Run
from onecharge.history.records import Record
from onecharge.history.story import (
    Answer,
    Attempt,
    Belief,
    Call,
    Charge,
    Delivering,
    Event,
    Firing,
    OrderStory,
)


def case_of(records: Iterable[Record]) -> Case:
    """Read the records of one run as a case."""
    return _Assembly().read(records)


class _Assembly:
    """Turns records into a case, one at a time."""

    def __init__(self) -> None:
        self.case = Case()
        self._waiting: dict[int, Attempt] = {}
        self._delivering: dict[str, Delivering] = {}
        self._event_orders: dict[str, str | None] = {}
        self._references: dict[str, list[str]] = {}

    def read(self, records: Iterable[Record]) -> Case:
        case = self.case
        for record in records:
            case.began_ns = case.began_ns or record.time_ns
            case.ended_ns = record.time_ns
            self._take(record)
        self._tie_charges()
        self._tie_the_rest()
        case.ledger_trouble += _imbalances(case.charges.values())
        return case

    def _take(self, record: Record) -> None:
        lane = record.lane.partition(":")[0]
        if take := _TAKES.get((lane, record.kind, record.what)):
            take(self, record)

    # What clients did and heard.

    def _story(self, order: str) -> OrderStory:
        story = self.case.orders.get(order)
        if story is None:
            story = self.case.orders[order] = OrderStory(order)
        return story

    def invoke(self, record: Record) -> None:
        value = record.value
        story = self._story(record.order or record.key or record.lane)
        attempt = Attempt(
            lane=record.lane,
            number=value.get("attempt", len(story.attempts) + 1),
            invoked=record.index,
            tenant=record.tenant,
            key=record.key,
            amount_minor=value.get("amount_minor", 0),
            currency=value.get("currency", ""),
        )
        if not story.attempts and not story.amount_minor:
            story.amount_minor, story.currency = attempt.amount_minor, attempt.currency
        story.tenant = story.tenant or record.tenant
        if customer := value.get("customer"):
            story.customers.add(customer)
        story.attempts.append(attempt)
        self._waiting[record.index] = attempt

    def answer(self, record: Record) -> None:
        attempt = self._waiting.pop(-1 if record.cause is None else record.cause, None)
        if attempt is None:
            return
        value = record.value
        attempt.answer = Answer(
            index=record.index,
            outcome=value.get("outcome", "unknown"),
            status=value.get("status"),
            charge=value.get("charge"),
            provider_charge=value.get("provider_charge"),
            error=value.get("error"),
        )

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
            charge = self.case.charges[name] = _born(name, record)
            call = self.case.calls.get(charge.call or "")
            clues = (charge.reference, record.order, call.order if call else None)
            self._references[name] = [clue for clue in clues if clue]
            if call:
                call.charge = name
        amount_minor = value.get("amount_minor", 0)
        match record.what:
            case "charge.captured":
                charge.captured = record.index if charge.captured is None else charge.captured
                charge.captured_minor += amount_minor
            case "charge.refunded":
                charge.refunded_minor += amount_minor
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
        )
        self._event_orders[name] = record.order

    def deliver(self, record: Record) -> None:
        value = record.value
        delivering = Delivering(
            attempt=_text(record, "attempt"),
            endpoint=str(value.get("url") or value.get("delivery") or ""),
            event=_text(record, "event"),
            sent=record.index,
            forged=bool(value.get("forged")),
        )
        self._delivering[delivering.attempt] = delivering
        if event := self.case.events.get(delivering.event):
            event.attempts.append(delivering)

    def delivered(self, record: Record) -> None:
        if delivering := self._delivering.get(_text(record, "attempt")):
            delivering.ended = record.index
            delivering.acknowledged = record.kind == "ok"
            delivering.status = record.value.get("status")

    def fired(self, record: Record) -> None:
        value = record.value
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
        self.case.run = _run(record.value)
        for planted in record.value.get("orders", ()):
            self._announce(planted)

    def phase(self, record: Record) -> None:
        self.case.phases.setdefault(_text(record, "phase"), record.index)

    def converged(self, record: Record) -> None:
        self.case.converged = _convergence(record)

    def overdue(self, record: Record) -> None:
        self.case.overdue = _convergence(record)

    def believed(self, record: Record) -> None:
        if record.order is not None:
            self._story(record.order).belief = _belief(record)

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

    # What belongs to what.

    def _tie_charges(self) -> None:
        case = self.case
        case.attribution = attribute(
            (
                Clues(
                    charge=charge.id,
                    at=charge.created,
                    amount_minor=charge.amount_minor,
                    currency=charge.currency.upper(),
                    references=tuple(self._references[charge.id]),
                    customer=charge.customer,
                )
                for charge in case.charges.values()
            ),
            [_planted(story) for story in case.orders.values()],
        )
        for name, tie in case.attribution.ties.items():
            charge = case.charges[name]
            charge.order = tie.order
            case.orders[tie.order].charges.append(charge)
        case.unattributed = tuple(
            charge
            for name in case.attribution.untied
            if (charge := case.charges[name]).captured is not None
        )

    def _tie_the_rest(self) -> None:
        case = self.case
        for call in case.calls.values():
            if story := self._owner(call.charge, call.order):
                story.calls.append(call)
        for event in case.events.values():
            if story := self._owner(event.charge, self._event_orders[event.id]):
                story.events.append(event)
        for firing in case.firings:
            call_fired = case.calls.get(firing.call or "")
            charge = call_fired.charge if call_fired else None
            if story := self._owner(charge, firing.order):
                story.firings.append(firing)

    def _owner(self, charge: str | None, order: str | None) -> OrderStory | None:
        """Return the story of the charge's order, else that of the order itself."""
        tied = self.case.charges.get(charge or "")
        return self.case.orders.get((tied.order if tied else None) or order or "")


_TAKES: Final[dict[tuple[str, str, str], Callable[[_Assembly, Record], None]]] = {
    ("client", "invoke", "charge"): _Assembly.invoke,
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
    ("judge", "read", "belief"): _Assembly.believed,
}


def _born(name: str, record: Record) -> Charge:
    value = record.value
    return Charge(
        id=name,
        created=record.index,
        call=value.get("call"),
        key=record.key,
        account=record.tenant,
        amount_minor=value.get("amount_minor", 0),
        currency=value.get("currency", ""),
        customer=value.get("customer"),
        reference=value.get("reference"),
        key_honoured=value.get("key_honoured", True),
    )


def _planted(story: OrderStory) -> Planted:
    last = max((a.answer.index for a in story.attempts if a.answer is not None), default=None)
    settled = bool(story.attempts) and not any(attempt.open for attempt in story.attempts)
    amounts = {(a.amount_minor, a.currency.upper()) for a in story.attempts}
    if story.amount_minor:
        amounts.add((story.amount_minor, story.currency.upper()))
    return Planted(
        order=story.order,
        customers=frozenset(story.customers),
        amounts=frozenset(amounts),
        opened_at=story.attempts[0].invoked if story.attempts else None,
        closed_at=last if settled else None,
    )


def _run(value: Mapping[str, Any]) -> Run:
    return Run(
        scenario=value.get("scenario", ""),
        seed=value.get("seed"),
        fair=value.get("fair", True),
        absent=_absent(value.get("capabilities")),
        rules=tuple(str(rule["name"]) for rule in value.get("plan", ()) if "name" in rule),
        claims=frozenset(value.get("claims", ())),
    )


def _absent(capabilities: Any) -> frozenset[str]:
    """Read a table of yes and no, or a list of what is there; nothing said, all is there."""
    match capabilities:
        case None:
            return frozenset()
        case Mapping():
            return frozenset(name for name, present in capabilities.items() if not present)
        case _:
            return CAPABILITIES.difference(capabilities)


def _convergence(record: Record) -> Convergence:
    value = record.value
    return Convergence(
        index=record.index,
        after_s=value.get("after_s", 0.0),
        bound_s=value.get("bound_s", 0.0),
        missing=tuple(str(lack) for lack in value.get("missing", ())),
    )


def _belief(record: Record) -> Belief:
    value = record.value
    return Belief(
        index=record.index,
        status=value.get("status"),
        charge=value.get("charge"),
        amount_minor=value.get("amount_minor"),
        effects=value.get("effects"),
        effects_minor=value.get("effects_minor"),
        refunds=value.get("refunds"),
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
