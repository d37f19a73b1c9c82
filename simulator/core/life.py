"""The life of one call, from top to bottom.

    on_receive ─ key lookup ─ before_commit ─ COMMIT ─ stored ─ after_commit ─ answer
                     ├─ replay ────────────────────────────────────┘
                     └─ mismatch, in flight: refused

Rule 1: a life is a generator: it yields where the call is held and returns how it ends.
Rule 2: every fault in force at a seam is asked, in the order of the plan, one at a time.
Rule 3: the commit is one synchronous block: ledger, journal and event, or none of them.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from simulator.core.calls import (
    APPROVED,
    CreateCharge,
    Decision,
    ListEvents,
    ReadEvent,
    ResendEvent,
)
from simulator.core.faults import (
    Answer,
    AnswerBend,
    Break,
    CommitBend,
    Decline,
    Fault,
    Hold,
    IgnoreKey,
    ReceiveBend,
    Rewrite,
    StayPending,
)
from simulator.core.idempotency import Expired, Fresh, InFlight, Mismatch, Replay
from simulator.core.journal import PROVIDER, Entry, Kind, Sink
from simulator.core.messages import Drop, Held, HttpReply, Reply, Seam, Until
from simulator.core.pending import Undecided
from simulator.core.results import ChargeShown, Problem, Result

if TYPE_CHECKING:
    from simulator.core.bank import Bank, Change
    from simulator.core.calls import Call
    from simulator.core.dialect import Dialect
    from simulator.core.idempotency import KeyStore
    from simulator.core.news import News
    from simulator.core.pending import Pending
    from simulator.core.rules import Plan

AnyBend = TypeVar("AnyBend")
Steps = Generator[Held, str, Reply | Drop]


@dataclass(frozen=True, slots=True)
class Works:
    """What all calls have in common: the parts of one provider."""

    dialect: "Dialect"
    bank: "Bank"
    keys: "KeyStore"
    news: "News"
    pending: "Pending"
    plan: "Plan"
    sink: Sink

    def write_down(self, change: "Change", call: "Call", now: float, *, key_honoured: bool) -> None:
        """Tell journal and endpoints of a change, in the name of the call that asked for it."""
        charge = change.charge
        value: dict[str, Any] = {
            "what": change.fact,
            "charge": charge.id,
            "call": call.id,
            "operation": call.operation,
            "amount_minor": change.amount_minor,
            "currency": charge.currency,
            "customer": charge.customer,
            "reference": charge.reference,
            "key_honoured": key_honoured,
        }
        self.sink(
            Entry(PROVIDER, "effect", value, charge.reference, call.account, call.key, call.cause)
        )
        self.news.born(change, call, now)


class Life:
    """A call between its arrival and its end. ``held`` says where it stands, if it stands."""

    __slots__ = ("_charge", "_heeds_key", "_now", "_replayed", "_steps", "_works", "call", "held")

    def __init__(self, call: "Call", works: Works, objection: str | None) -> None:
        self.call = call
        self.held: Held | None = None
        self._works = works
        self._now = 0.0
        self._heeds_key = False  # whether this call has claimed its key and may store under it
        self._charge: str | None = None
        self._replayed = False
        self._steps = self._live(objection)

    def go_on(self, now: float, reason: str | None = None) -> Reply | Drop | Held:
        """Live until the next hold or the end. The first time there is no reason to give."""
        self._now = now
        try:
            self.held = next(self._steps) if reason is None else self._steps.send(reason)
        except StopIteration as end:
            self.held = None
            last: Reply | Drop = end.value
            return last
        return self.held

    def _live(self, objection: str | None) -> Steps:
        """Read the call's key, as far as a fault lets us, and do what it says."""
        call, works = self.call, self._works
        keyed = call.key is not None and call.operation in works.dialect.keys.heeded_for

        def ask(fault: Fault) -> ReceiveBend | None:
            return fault.on_receive(call)

        bends: Iterator[ReceiveBend] = self._bends("on_receive", ask)
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("on_receive", until)
                case Answer():
                    return self._answer(self._error(bend))
                case Break(how):
                    return self._drop(how)
                case IgnoreKey():
                    keyed, objection = False, None
                case _:
                    assert_never(bend)

        if objection is not None:
            return self._answer(works.dialect.answer(Problem(objection)))
        return (yield from self._look_up() if keyed else self._execute())

    def _look_up(self) -> Steps:
        """Do what is due to a call with this key."""
        call, works = self.call, self._works
        found = works.keys.lookup(call, self._now)
        match found:
            case Fresh() | Expired():
                works.keys.claim(call, self._now)
                self._heeds_key = True
                return (yield from self._execute())
            case Replay(reply, charge):
                self._charge, self._replayed = charge, True
                return (yield from self._tell(works.dialect.replay(reply)))
            case InFlight():
                busy = Problem("key_in_flight", retry_after_s=1)
                return self._answer(works.dialect.answer(busy))
            case Mismatch():
                return self._answer(works.dialect.answer(Problem("key_mismatch")))
            case _:
                assert_never(found)

    def _execute(self) -> Steps:
        """Let it happen, unless a fault is in the way, and bind the answer to the key."""
        call = self.call
        params = call.params
        decision = params.decision if isinstance(params, CreateCharge) else APPROVED

        def ask(fault: Fault) -> CommitBend | None:
            return fault.before_commit(call)

        bends: Iterator[CommitBend] = self._bends("before_commit", ask)
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("before_commit", until)
                case Answer(stored=stored):
                    error = self._error(bend)
                    self._settle_key(stored=error if stored else None)
                    return self._answer(error)
                case Break(how):
                    self._settle_key(stored=None)
                    return self._drop(how)
                case Decline(code):
                    decision = replace(decision, decline=code)
                case StayPending(for_s, code):
                    decision = Decision(code or decision.decline, for_s)
                case _:
                    assert_never(bend)

        reply = self._works.dialect.answer(self._commit(decision))
        stores = self._works.dialect.keys.stores(reply.status)
        self._settle_key(stored=reply if stores else None)
        return (yield from self._tell(reply))

    def _tell(self, reply: HttpReply) -> Steps:
        """Answer, if a fault lets us, with what it leaves of the reply."""
        call = self.call

        def ask(fault: Fault) -> AnswerBend | None:
            return fault.after_commit(call, reply)

        bends: Iterator[AnswerBend] = self._bends("after_commit", ask)
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("after_commit", until)
                case Answer(stored=stored):
                    reply = self._error(bend)
                    self._charge, self._replayed = None, False
                    if stored:
                        self._settle_key(stored=reply)
                case Rewrite(instead):
                    reply, self._charge = instead, None
                case Break(how):
                    return self._drop(how, reply)
                case _:
                    assert_never(bend)
        return self._answer(reply)

    def _commit(self, decision: Decision) -> Result:
        """Let it happen, all at once: money, journal and event."""
        call, works = self.call, self._works
        match call.params:
            case ReadEvent() | ListEvents() | ResendEvent() as params:
                return works.news.answer(params, call.account, self._now)
            case params:
                outcome = works.bank.execute(params, call.account, self._now, decision)
        if isinstance(outcome.result, ChargeShown):
            self._charge = outcome.result.charge.id
        if outcome.change is not None:
            self._charge = outcome.change.charge.id
            works.write_down(outcome.change, call, self._now, key_honoured=self._heeds_key)
            if isinstance(params, CreateCharge) and decision.after_s is not None:
                undecided = Undecided(
                    self._charge, call, params.capture, decision.decline, self._heeds_key
                )
                works.pending.add(self._now + decision.after_s, undecided)
        return outcome.result

    def _settle_key(self, *, stored: HttpReply | None) -> None:
        """Bind an answer to the key that this call has claimed, or set the key free."""
        if not self._heeds_key:
            return
        if stored is not None:
            self._works.keys.store(self.call, stored, self._charge)
        else:
            self._works.keys.release(self.call)
            self._heeds_key = False

    def _bends(self, seam: Seam, ask: Callable[[Fault], AnyBend | None]) -> Iterator[AnyBend]:
        """Ask every fault in force at this seam, and write down those that strike."""
        call, plan = self.call, self._works.plan
        for armed in plan.matching(seam, call.operation, call.order):
            bend = ask(armed.rule.fault)
            if bend is not None and plan.fires(armed, self._now):
                self._works.sink(
                    armed.rule.struck(
                        seam,
                        {"call": call.id},
                        order=call.order,
                        tenant=call.account,
                        key=call.key,
                        cause=call.cause,
                    )
                )
                yield bend

    def _error(self, bend: Answer) -> HttpReply:
        problem = Problem(bend.code, "", bend.status, bend.retry_after_s)
        return self._works.dialect.answer(problem)

    def _hold(self, seam: Seam, until: Until) -> Generator[Held, str, None]:
        call = self.call
        value = {
            "what": "call",
            "call": call.id,
            "operation": call.operation,
            "seam": seam,
            "condition": until.condition,
        }
        self._write("park", value)
        reason = yield Held(call.id, seam, until)
        self._write("release", {"what": "call", "call": call.id, "seam": seam, "reason": reason})

    def _answer(self, reply: HttpReply) -> Reply:
        value = {
            "what": "reply",
            "call": self.call.id,
            "status": reply.status,
            "charge": self._charge,
            "replayed": self._replayed,
        }
        self._write("send", value)
        return Reply(self.call.id, reply)

    def _drop(
        self, how: Literal["reset", "silence", "cut"], reply: HttpReply | None = None
    ) -> Drop:
        self._write("drop", {"what": "reply", "call": self.call.id, "how": how})
        return Drop(self.call.id, how, reply)

    def _write(self, kind: Kind, value: dict[str, Any]) -> None:
        call = self.call
        self._works.sink(
            Entry(PROVIDER, kind, value, call.order, call.account, call.key, call.cause)
        )
