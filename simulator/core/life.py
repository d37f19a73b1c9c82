"""The life of one call, from top to bottom.

    on_receive ─ key lookup ─ before_commit ─ COMMIT ─ stored ─ after_commit ─ answer
                     ├─ replay ────────────────────────────────────┘
                     ├─ in flight: refused, or it waits and looks up again
                     └─ mismatch: refused

Rule 1: a life is a generator: it yields where the call stands still and returns how it ends.
Rule 2: every fault in force at a seam is asked, in the order of the plan, one at a time; where
        none is, nothing is asked.
Rule 3: the commit is one synchronous block: ledger, journal and event, or none of them.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar, assert_never

from simulator.core.calls import (
    APPROVED,
    ChargeParams,
    CreateCharge,
    Decision,
    ListEvents,
    ReadEvent,
    ResendEvent,
)
from simulator.core.desk_calls import DeskCall
from simulator.core.faults import (
    Answer,
    AnswerBend,
    Break,
    CommitBend,
    Decline,
    Fault,
    ForgetKeys,
    Hold,
    IgnoreKey,
    Misreport,
    ReceiveBend,
    Rewrite,
    StayPending,
)
from simulator.core.idempotency import (
    BusinessKey,
    Expired,
    Fresh,
    InFlight,
    Mismatch,
    Refuse,
    Replay,
)
from simulator.core.journal import PROVIDER, Entry, Kind
from simulator.core.lookups import misreported
from simulator.core.messages import Drop, Held, HttpReply, Reply, Seam, Until, Waiting
from simulator.core.pending import Undecided
from simulator.core.results import ChargeShown, Problem, Result, is_pending
from simulator.core.rules import asked_for

if TYPE_CHECKING:
    from simulator.core.calls import Call
    from simulator.core.idempotency import Claim
    from simulator.core.works import Works

AnyBend = TypeVar("AnyBend")
Steps = Generator[Held | Waiting, str, Reply | Drop]


class Life:
    """A call between its arrival and its end; ``held`` says where a fault holds it, if one does."""

    __slots__ = (
        "_charge",
        "_claim",
        "_lies",
        "_now",
        "_replayed",
        "_steps",
        "_works",
        "call",
        "held",
    )

    def __init__(self, call: "Call", works: "Works", objection: str | None) -> None:
        self.call = call
        self.held: Held | None = None
        self._works = works
        self._now = 0.0
        self._claim: Claim | None = None  # on its key, under which it may store its answer
        self._lies: tuple[Misreport, ...] = ()  # what a lookup is to say instead
        self._charge: str | None = None
        self._replayed = False
        self._steps = self._live(objection)

    @property
    def in_flight(self) -> bool:
        """Whether others with its key have to wait: it is claimed, and there is no outcome."""
        return self._claim is not None and self._claim.answer is None

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

    def _live(self, objection: str | None) -> Steps:  # seam by seam, top to bottom
        """Go straight down, aside only at the seams where a fault is in force."""
        call, works = self.call, self._works
        plan, keyed = works.plan, works.keys.heeds(call)
        if "on_receive" in plan.seams or call.faults:
            heeded = yield from self._bent_on_receive()
            if not isinstance(heeded, bool):
                return heeded
            keyed, objection = keyed and heeded, objection if heeded else None
        if objection is not None:
            return self._answer(works.dialect.answer(Problem(objection)))

        known = self._look_up() if keyed else None
        while isinstance(known, InFlight):
            yield from self._wait(known.call)
            known = self._look_up()
        if isinstance(known, Reply):
            return known
        if known is None:
            params = call.params
            decision = params.decision if isinstance(params, CreateCharge) else APPROVED
            if "before_commit" in plan.seams or call.faults:
                bent = yield from self._bent_before_commit(decision)
                if not isinstance(bent, Decision):
                    return bent
                decision = bent
            known = self._commit(decision)

        if "after_commit" in plan.seams or call.faults:
            return (yield from self._bent_after_commit(known))
        return self._answer(known)

    def _look_up(self) -> Reply | HttpReply | InFlight | None:
        """Return how a call with this key is refused, or what is known of it; or claim the key.

        ``InFlight`` says that it is to wait, and then to look again.
        """
        keys, call = self._works.keys, self.call
        found = keys.lookup(call, self._now)
        match found:
            case Fresh() | Expired():
                self._claim = keys.claim(call, self._now)
                return None
            case Replay():
                return self._again(found)
            case InFlight():
                waits = keys.policy.in_flight == "wait"
                return found if waits else self._refuse(keys.policy.in_flight)
            case Mismatch():
                return self._refuse(keys.policy.mismatch)
            case _:
                assert_never(found)

    def _bent_on_receive(self) -> Generator[Held, str, Reply | Drop | bool]:
        """Let the faults bend the arrival; if it goes on, tell whether its key still counts."""
        heeded = True
        bends: Iterator[ReceiveBend] = self._struck(
            "on_receive", lambda fault: fault.on_receive(self.call)
        )
        for bend in bends:
            match bend:
                case Hold(until):
                    yield from self._hold("on_receive", until)
                case Answer():
                    return self._answer(self._error(bend))
                case Break(how):
                    return self._drop(how)
                case IgnoreKey():
                    heeded = False
                case ForgetKeys():
                    self._works.keys.forget()
                case _:
                    assert_never(bend)
        return heeded

    def _bent_before_commit(
        self, decision: Decision
    ) -> Generator[Held, str, Reply | Drop | Decision]:
        """Let the faults bend what the bank decides, or keep it from being asked at all."""
        bends: Iterator[CommitBend] = self._struck(
            "before_commit", lambda fault: fault.before_commit(self.call)
        )
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
                case Misreport():
                    self._lies += (bend,)
                case _:
                    assert_never(bend)
        return decision

    def _bent_after_commit(self, reply: HttpReply) -> Generator[Held, str, Reply | Drop]:
        """Let the faults bend the answer: what it says, when it is said, whether it arrives."""
        bends: Iterator[AnswerBend] = self._struck(
            "after_commit", lambda fault: fault.after_commit(self.call, reply)
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

    def _again(self, known: Replay) -> HttpReply:
        """Return what a known key is answered."""
        works = self._works
        policy, reply = works.keys.policy, known.reply
        self._charge, self._replayed = known.charge, True
        if policy.undecided is not None and known.result is not None and is_pending(known.result):
            return self._as_far_as_known(works.bank.as_decided(known.result))
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

    def _commit(self, decision: Decision) -> HttpReply:
        """Let it happen, all at once, and bind the answer to the key."""
        works = self._works
        result = self._execute(decision)
        for lie in self._lies:
            result = misreported(result, lie, works.news.events, self._now)
        policy = works.keys.policy
        undecided = policy.undecided is not None and is_pending(result)
        reply = self._as_far_as_known(result) if undecided else works.dialect.answer(result)
        if self._claim is not None:
            stores = undecided or policy.stores(reply.status)
            self._settle_key(reply if stores else None, result)
        return reply

    def _as_far_as_known(self, result: Result) -> HttpReply:
        """Answer what a provider does that waits for the bank's decision to tell of a charge."""
        undecided = self._works.keys.policy.undecided
        if undecided is not None and is_pending(result):
            return self._refused(undecided)
        return self._works.dialect.answer(result)

    def _execute(self, decision: Decision) -> Result:
        """Let money, journal and event take one step together, or none."""
        match self.call.params:
            case CreateCharge() as params:  # first, as it is in nearly every call
                return self._ask_bank(params, decision)
            case ReadEvent() | ListEvents() | ResendEvent() as params:
                return self._works.news.answer(params, self.call.account, self._now)
            case DeskCall() as params:
                return self._ask_desk(params, decision)
            case params:
                return self._ask_bank(params, decision)

    def _ask_bank(self, params: ChargeParams, decision: Decision) -> Result:
        """Let it happen at the bank."""
        call, works, now = self.call, self._works, self._now
        guard = works.keys.policy.business
        if guard is not None and isinstance(params, CreateCharge):
            repeated = self._repeated(params, guard)
            if repeated is not None:
                return repeated
        result, change = works.bank.execute(params, call.account, now, decision)
        if change is not None:
            self._charge = change.charge.id
            honoured = self._claim is not None
            works.write_down(change, call, now, key_honoured=honoured)
            if decision.after_s is not None and isinstance(params, CreateCharge):
                undecided = Undecided(
                    self._charge, call, params.capture, decision.decline, honoured
                )
                works.pending.add(now + decision.after_s, undecided)
        elif isinstance(result, ChargeShown):
            self._charge = result.charge.id
        return result

    def _repeated(self, wish: CreateCharge, guard: BusinessKey) -> Result | None:
        """Return what is said of a charge whose order has one already, if it has."""
        there = self._works.bank.standing_for(wish, self.call.account, guard.alike)
        if there is None or self._now - there.created_s >= guard.within_s:
            return None
        self._charge = there.id
        if guard.repeated == "same_charge":
            return ChargeShown(there)
        return _problem_of(guard.repeated, resource=there.id)

    def _ask_desk(self, params: DeskCall, decision: Decision) -> Result:
        """Let it happen at the desk, and the bank behind it."""
        call, works, now = self.call, self._works, self._now
        handled = works.desk.handle(params, call.account, now, decision)
        change, self._charge = handled.change, handled.charge
        if change is None:
            for notice in handled.notices:
                works.news.tell(notice, call, now, asked=True)
            return handled.result
        honoured, awaited = self._claim is not None, handled.awaited
        works.write_down(change, call, now, key_honoured=honoured, notices=handled.notices)
        if awaited is not None and awaited.after_s is not None:
            undecided = Undecided(
                change.charge.id, call, handled.capture, awaited.decline, honoured
            )
            works.pending.add(now + awaited.after_s, undecided)
        return handled.result

    def _settle_key(self, stored: HttpReply | None, result: Result | None = None) -> None:
        """Bind an answer to the key that this call has claimed, or set the key free."""
        keys, claim = self._works.keys, self._claim
        if claim is None:
            return
        if stored is not None:
            keys.store(claim, stored, self._charge, result)
        else:
            keys.release(claim)
            self._claim = None

    def _struck(self, seam: Seam, ask: Callable[[Fault], AnyBend | None]) -> Iterator[AnyBend]:
        """Yield the bends of the faults that strike, and write down that they did."""
        call, plan = self.call, self._works.plan
        matching = plan.matching(seam, call.operation, call.order)
        for armed in chain(matching, asked_for(call.faults, seam)):
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
        policy = self._works.keys.policy
        own = {"key_in_flight": policy.in_flight, "key_mismatch": policy.mismatch}.get(bend.code)
        if bend.status is None and isinstance(own, Refuse):  # in this provider's own words
            return self._refused(own)
        problem = Problem(bend.code, "", bend.status, bend.retry_after_s)
        return self._works.dialect.answer(problem)

    def _refuse(self, refusal: object) -> Reply:
        assert isinstance(refusal, Refuse)  # whoever replays or waits instead is not here
        return self._answer(self._refused(refusal))

    def _refused(self, refusal: Refuse) -> HttpReply:
        """Put into the dialect's words what the policy says no with."""
        reply = self._works.dialect.answer(_problem_of(refusal))
        return HttpReply(reply.status, reply.headers + refusal.headers, reply.body)

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
        call, works = self.call, self._works
        value = {
            "what": "reply",
            "call": call.id,
            "status": reply.status,
            "charge": self._charge,
            "replayed": self._replayed,
        }
        self._write("send", value)
        echo = works.keys.policy.echo
        if echo is not None and call.key is not None:
            reply = HttpReply(reply.status, (*reply.headers, (echo, call.key)), reply.body)
        return Reply(call.id, works.dialect.addressed(reply, call.id))

    def _drop(
        self, how: Literal["reset", "silence", "cut"], reply: HttpReply | None = None
    ) -> Drop:
        self._write("drop", {"what": "reply", "call": self.call.id, "how": how})
        if reply is not None:
            reply = self._works.dialect.addressed(reply, self.call.id)
        return Drop(self.call.id, how, reply)

    def _write(self, kind: Kind, value: dict[str, Any]) -> None:
        call = self.call
        self._works.sink(
            Entry(PROVIDER, kind, value, call.order, call.account, call.key, call.cause)
        )


def _problem_of(refusal: Refuse, *, resource: str | None = None) -> Problem:
    return Problem(refusal.code, "", refusal.status, refusal.retry_after_s, resource)
