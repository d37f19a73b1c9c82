"""The life of one call, from top to bottom.

    on_receive ─ key lookup ─ before_commit ─ COMMIT ─ stored ─ after_commit ─ answer
                     ├─ replay ────────────────────────────────────┘
                     ├─ in flight: refused, or it waits and looks up again
                     └─ mismatch: refused

Rule 1: a life is a generator: it yields where the call stands still and returns how it ends.
Rule 2: every fault in force at a seam is asked, in the order of the plan, one at a time.
Rule 3: the commit is one synchronous block: ledger, journal and event, or none of them.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
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
from simulator.core.idempotency import Expired, Fresh, InFlight, Mismatch, Refuse, Replay
from simulator.core.journal import PROVIDER, Entry, Kind
from simulator.core.messages import Drop, Held, HttpReply, Reply, Seam, Until, Waiting
from simulator.core.pending import Undecided
from simulator.core.results import ChargeShown, Problem, Result

if TYPE_CHECKING:
    from simulator.core.calls import Call
    from simulator.core.works import Works

AnyBend = TypeVar("AnyBend")
Steps = Generator[Held | Waiting, str, Reply | Drop]


class Life:
    """A call between its arrival and its end.

    ``held`` says where it stands, if a fault holds it. ``in_flight`` says whether others with its
    key have to wait: it has claimed the key, and there is no outcome.
    """

    __slots__ = (
        "_charge",
        "_heeds_key",
        "_now",
        "_replayed",
        "_steps",
        "_works",
        "call",
        "held",
        "in_flight",
    )

    def __init__(self, call: "Call", works: "Works", objection: str | None) -> None:
        self.call = call
        self.held: Held | None = None
        self.in_flight = False
        self._works = works
        self._now = 0.0
        self._heeds_key = False  # whether this call has claimed its key and may store under it
        self._charge: str | None = None
        self._replayed = False
        self._steps = self._live(objection)

    def go_on(self, now: float, reason: str | None = None) -> Reply | Drop | Held | Waiting:
        """Live until it next stands still, or to the end. At first there is no reason to give."""
        self._now = now
        self.held = None
        try:
            stands = next(self._steps) if reason is None else self._steps.send(reason)
        except StopIteration as end:
            last: Reply | Drop = end.value
            return last
        if isinstance(stands, Held):
            self.held = stands
        return stands

    def _live(self, objection: str | None) -> Steps:
        """Read the call's key, as far as a fault lets us, and do what it says."""
        call, works = self.call, self._works
        keyed = works.keys.heeds(call)
        bends: Iterable[ReceiveBend] = self._bends("on_receive", lambda f: f.on_receive(call))
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
        while True:
            found = works.keys.lookup(call, self._now)
            match found:
                case Fresh() | Expired():
                    works.keys.claim(call, self._now)
                    self._heeds_key = self.in_flight = True
                    return (yield from self._execute())
                case Replay(charge=charge):
                    self._charge, self._replayed = charge, True
                    return (yield from self._tell(self._again(found)))
                case InFlight(first):
                    match works.keys.policy.in_flight:
                        case Refuse() as refusal:
                            return self._answer(self._refusal(refusal))
                        case "wait":
                            yield from self._wait(first)
                        case _:
                            assert_never(works.keys.policy.in_flight)
                case Mismatch():
                    assert isinstance(works.keys.policy.mismatch, Refuse)
                    return self._answer(self._refusal(works.keys.policy.mismatch))
                case _:
                    assert_never(found)

    def _again(self, known: Replay) -> HttpReply:
        """Return what a known key is answered."""
        works = self._works
        policy, reply = works.keys.policy, known.reply
        match policy.replay:
            case "as_stored":
                pass
            case "current_state":
                if known.result is not None:
                    reply = works.dialect.answer(works.bank.as_it_is_now(known.result))
            case "conflict":
                if known.charge is not None:
                    conflict = Problem("key_conflict", resource=known.charge)
                    reply = works.dialect.answer(conflict)
            case _:
                assert_never(policy.replay)
        return policy.marked(reply)

    def _execute(self) -> Steps:
        """Let it happen, unless a fault is in the way, and bind the answer to the key."""
        call, params = self.call, self.call.params
        decision = params.decision if isinstance(params, CreateCharge) else APPROVED
        bends: Iterable[CommitBend] = self._bends("before_commit", lambda f: f.before_commit(call))
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("before_commit", until)
                case Answer(stored=stored):
                    error = self._error(bend)
                    self._settle_key(error if stored else None)
                    return self._answer(error)
                case Break(how):
                    self._settle_key(None)
                    return self._drop(how)
                case Decline(code):
                    decision = replace(decision, decline=code)
                case StayPending(for_s, code):
                    decision = Decision(code or decision.decline, for_s)
                case _:
                    assert_never(bend)

        result = self._commit(decision)
        reply = self._works.dialect.answer(result)
        stores = self._works.keys.policy.stores(reply.status)
        self._settle_key(reply if stores else None, result)
        return (yield from self._tell(reply))

    def _tell(self, reply: HttpReply) -> Steps:
        """Answer, if a fault lets us, with what it leaves of the reply."""
        call = self.call
        bends: Iterable[AnswerBend] = self._bends(
            "after_commit", lambda f: f.after_commit(call, reply)
        )
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("after_commit", until)
                case Answer(stored=stored):
                    reply = self._error(bend)
                    self._charge, self._replayed = None, False
                    if stored:
                        self._settle_key(reply)
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

    def _settle_key(self, stored: HttpReply | None, result: Result | None = None) -> None:
        """Bind an answer to the key that this call has claimed, or set the key free."""
        if not self._heeds_key:
            return
        self.in_flight = False
        if stored is not None:
            self._works.keys.store(self.call, stored, self._charge, result)
        else:
            self._works.keys.release(self.call)
            self._heeds_key = False

    def _bends(self, seam: Seam, ask: Callable[[Fault], AnyBend | None]) -> Iterable[AnyBend]:
        """Ask every fault in force at this seam, if there is any."""
        return self._struck(seam, ask) if self._works.plan.bends(seam) else ()

    def _struck(self, seam: Seam, ask: Callable[[Fault], AnyBend | None]) -> Iterator[AnyBend]:
        """Yield the bends of the faults that strike, and write down that they did."""
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

    def _refusal(self, refusal: Refuse) -> HttpReply:
        problem = Problem(refusal.code, "", refusal.status, refusal.retry_after_s)
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

    def _wait(self, first: str) -> Generator[Waiting, str, None]:
        """Stand still, as the provider does of its own accord, until the first call is done."""
        call = self.call
        value = {
            "what": "call",
            "call": call.id,
            "operation": call.operation,
            "seam": "on_receive",
            "condition": "first_done",
            "behind": first,
        }
        self._write("park", value)
        reason = yield Waiting(call.id, first)
        end = {"what": "call", "call": call.id, "seam": "on_receive", "reason": reason}
        self._write("release", end)

    def _answer(self, reply: HttpReply) -> Reply:
        call, echo = self.call, self._works.keys.policy.echo
        value = {
            "what": "reply",
            "call": call.id,
            "status": reply.status,
            "charge": self._charge,
            "replayed": self._replayed,
        }
        self._write("send", value)
        if echo is not None and call.key is not None:
            reply = HttpReply(reply.status, (*reply.headers, (echo, call.key)), reply.body)
        return Reply(call.id, reply)

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
