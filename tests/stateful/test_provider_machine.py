"""The provider against an oracle small enough to be believed.

Hypothesis makes calls of every kind, bends each in one way, holds some and lets them go, moves
time and answers webhooks. The oracle is written with plain ifs and knows nothing of the core.
"""

import json
import sys
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from simulator.core.calls import Call
from simulator.core.charges import TRANSITIONS, Charge, Status
from simulator.core.charges import Action as Step
from simulator.core.deliveries import Answered, Attempt, NoAnswer
from simulator.core.faults import Fault, StayPending
from simulator.core.journal import Journal
from simulator.core.messages import Action, Drop, Held, HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.generic import Generic
from simulator.faults.cut_reply import CutReply
from simulator.faults.decline import Decline
from simulator.faults.error_after_commit import ErrorAfterCommit
from simulator.faults.error_before_commit import ErrorBeforeCommit
from simulator.faults.garbage_reply import GarbageReply
from simulator.faults.hold import Hold
from simulator.faults.lose_reply import LoseReply
from simulator.faults.rate_limit import RateLimit
from simulator.faults.redeliver import Redeliver
from simulator.faults.reset_before_commit import ResetBeforeCommit
from simulator.faults.time_out_after_commit import TimeOutAfterCommit
from simulator.faults.time_out_before_commit import TimeOutBeforeCommit
from simulator.faults.wrong_signature import WrongSignature

HOUR_S, DAY_S = 3_600, 86_400
SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"


@dataclass(frozen=True, slots=True)
class Ponder(Fault):
    """The bank decides an hour later."""

    decline: str | None = None

    def before_commit(self, call: Call) -> StayPending | None:
        return StayPending(HOUR_S, self.decline) if call.operation == "charge.create" else None


FAULTS: list[Fault | None] = [
    None,
    CutReply(),
    Decline(),
    ErrorAfterCommit(),
    ErrorAfterCommit(stored=False),
    ErrorBeforeCommit(),
    ErrorBeforeCommit(stored=True),
    GarbageReply(),
    Hold("on_receive"),
    Hold("before_commit"),
    Hold("after_commit"),
    LoseReply(),
    Ponder(),
    Ponder("lost_card"),
    RateLimit(),
    ResetBeforeCommit(),
    TimeOutAfterCommit(),
    TimeOutBeforeCommit(),
]
DELIVERY_FAULTS: list[Fault] = [Redeliver(), Redeliver(3, "concurrent"), WrongSignature()]

BEFORE = (ResetBeforeCommit, TimeOutBeforeCommit)
AFTER = (CutReply, LoseReply, TimeOutAfterCommit)
DROPPED, HELD = "dropped", "held"

Seen = int | str  # a status, or that there was none


@dataclass(frozen=True, slots=True)
class Life:
    """A charge, made in one way, and one step after it."""

    capture: bool = True
    fault: Fault | None = None
    verb: str = "refunds"
    declined: bool = False
    part: bool = False


LIVES: dict[tuple[Status, Step], Life] = {
    (Status.PENDING, Step.AUTHORISE): Life(capture=False),
    (Status.PENDING, Step.CAPTURE): Life(),
    (Status.PENDING, Step.DECLINE): Life(fault=Decline()),
    (Status.PENDING, Step.CANCEL): Life(fault=Ponder(), verb="cancel"),
    (Status.AUTHORISED, Step.CAPTURE): Life(capture=False, verb="capture"),
    (Status.AUTHORISED, Step.DECLINE): Life(capture=False, verb="capture", declined=True),
    (Status.AUTHORISED, Step.CANCEL): Life(capture=False, verb="cancel"),
    (Status.CAPTURED, Step.REFUND_PART): Life(part=True),
    (Status.CAPTURED, Step.REFUND_ALL): Life(),
}
"""A way to every row: each run begins with one of them, so that no row is left to chance."""


@dataclass
class Money:
    """One charge, as the oracle keeps it."""

    amount: int
    taken: int = 0
    back: int = 0
    open: bool = True  # authorised or pending: to be captured or cancelled
    due_s: float | None = None  # pending: until then
    then: int = 0  # pending: what is to be taken
    stays_open: bool = False  # pending: what is to become of it


@dataclass
class Known:
    """One key, as the oracle keeps it: busy until there is a status."""

    asked: str
    since_s: float
    status: int | None = None


@dataclass
class Ask:
    """One call, as the oracle keeps it."""

    key: str
    path: str
    verb: str
    charge: str
    body: dict[str, Any]
    fault: Fault | None

    @property
    def asked(self) -> str:
        return json.dumps([self.path, self.body])


@dataclass
class Oracle:
    """What must happen, said a second time in another way."""

    money: dict[str, Money] = field(default_factory=dict)
    keys: dict[str, Known] = field(default_factory=dict)
    events: int = 0

    def settle(self, now: float) -> None:
        """Let the bank decide what it is to have decided by now."""
        for money in self.money.values():
            if money.due_s is not None and money.due_s <= now:
                money.taken, money.open, money.due_s = money.then, money.stays_open, None
                self.events += 1

    def arrive(self, ask: Ask, now: float) -> Seen:
        if isinstance(ask.fault, RateLimit):
            return 429
        if ask.fault == Hold("on_receive"):
            return HELD
        return self.look_up(ask, now)

    def look_up(self, ask: Ask, now: float) -> Seen:
        known = self.keys.get(ask.key)
        if known and (known.status is None or now < known.since_s + DAY_S):
            if known.asked != ask.asked:
                return 422
            return 409 if known.status is None else self.answer(ask, known.status)
        self.keys[ask.key] = Known(ask.asked, now)
        return HELD if ask.fault == Hold("before_commit") else self.execute(ask, now)

    def execute(self, ask: Ask, now: float) -> Seen:
        if isinstance(ask.fault, BEFORE) or ask.fault == ErrorBeforeCommit():
            del self.keys[ask.key]
            return 503 if isinstance(ask.fault, ErrorBeforeCommit) else DROPPED
        if isinstance(ask.fault, ErrorBeforeCommit):
            self.keys[ask.key].status = 503
            return 503
        status = self.move(ask, now, declined=isinstance(ask.fault, Decline))
        self.keys[ask.key].status = 500 if ask.fault == ErrorAfterCommit() else status
        return self.answer(ask, status)

    def answer(self, ask: Ask, status: int) -> Seen:
        if isinstance(ask.fault, AFTER):
            return DROPPED
        if ask.fault == Hold("after_commit"):
            return HELD
        if isinstance(ask.fault, ErrorAfterCommit):
            return 500
        return 200 if isinstance(ask.fault, GarbageReply) else status

    def move(self, ask: Ask, now: float, *, declined: bool) -> int:  # noqa: PLR0911  # plain ifs
        """Move the money, if it can be moved, and return the status."""
        if ask.verb == "create":
            made = Money(ask.body["amount_minor"])
            self.money[f"ch_{len(self.money) + 1}"] = made
            made.open = not declined and not ask.body["capture"]
            made.taken = made.amount if not declined and ask.body["capture"] else 0
            if isinstance(ask.fault, Ponder):
                approved = ask.fault.decline is None
                made.then = made.amount if approved and ask.body["capture"] else 0
                made.stays_open = approved and not ask.body["capture"]
                made.taken, made.open, made.due_s = 0, True, now + HOUR_S
            return self.told(402 if declined else 201)
        charge = self.money.get(ask.charge)
        if charge is None:
            return 404
        if ask.verb == "refunds":
            left = charge.taken - charge.back
            wanted = ask.body.get("amount_minor", left)
            if charge.taken == 0 or left == 0 or wanted > left:
                return 409 if left == 0 else 422
            charge.back += 0 if declined else wanted
            return 402 if declined else self.told(201)
        if not charge.open:
            return 409
        if ask.verb == "cancel":
            charge.open = declined
            charge.due_s = charge.due_s if declined else None
            return 402 if declined else self.told(200)
        if charge.due_s is not None:
            return 409
        wanted = ask.body.get("amount_minor", charge.amount)
        if wanted > charge.amount and not declined:
            return 422
        charge.open = False
        charge.taken = 0 if declined else wanted
        return self.told(402 if declined else 200)

    def told(self, status: int) -> int:
        self.events += 1
        return status


class ProviderMachine(RuleBasedStateMachine):
    rows: ClassVar[set[tuple[Status, Step]]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.provider = Provider(Generic())
        self.oracle = Oracle()
        self.now = 0.0
        self.asks: dict[str, Ask] = {}
        self.answers: dict[str, tuple[str, bytes]] = {}
        self.attempts: list[Attempt] = []

    @initialize(life=st.sampled_from(list(LIVES.values())))
    def somebody_listens_and_one_row_is_walked(self, life: Life) -> None:
        self.provider.add_endpoint("http://shop.test/hook", SECRET)
        self.live(life)

    @rule(
        key=st.sampled_from("abcdefgh"),
        verb=st.sampled_from(["create", "create", "capture", "cancel", "refunds", "refunds"]),
        place=st.integers(0, 11),
        amount_minor=st.integers(1, 3),
        flag=st.booleans(),
        fault=st.sampled_from([*FAULTS, *[None] * 10]),
    )
    def call(  # noqa: PLR0917  # drawn by name
        self,
        key: str,
        verb: str,
        place: int,
        amount_minor: int,
        flag: bool,  # noqa: FBT001  # drawn
        fault: Fault | None,
    ) -> None:
        charge = f"ch_{1 + place % (len(self.oracle.money) + 1)}"  # now and then one too many
        if verb == "create":
            path, body = "/v1/charges", {"amount_minor": amount_minor, "currency": "EUR"}
            body["capture"] = flag
        else:
            path = f"/v1/charges/{charge}/{verb}"
            body = {"amount_minor": amount_minor} if flag and verb != "cancel" else {}
        self.send(Ask(key, path, verb, charge, body, fault))

    @rule(back=st.integers(1, 4), fault=st.sampled_from([*FAULTS, *[None] * 10]))
    def call_again(self, back: int, fault: Fault | None) -> None:
        if back <= len(self.asks):
            self.send(replace(list(self.asks.values())[-back], fault=fault))

    @rule(
        life=st.builds(
            Life,
            st.booleans(),
            st.sampled_from([None, Decline(), Ponder(), Ponder("lost_card")]),
            st.sampled_from(["capture", "cancel", "refunds"]),
            st.booleans(),
            st.booleans(),
        )
    )
    def live(self, life: Life) -> None:
        key = f"own-{len(self.asks)}"
        body = {"amount_minor": 2, "currency": "EUR", "capture": life.capture}
        self.send(Ask(key, "/v1/charges", "create", "", body, life.fault))
        charge = f"ch_{len(self.oracle.money)}"
        path = f"/v1/charges/{charge}/{life.verb}"
        part = {"amount_minor": 1} if life.part and life.verb != "cancel" else {}
        fault = Decline() if life.declined else None
        self.send(Ask(f"{key}-2", path, life.verb, charge, part, fault))

    def send(self, ask: Ask) -> None:
        self.asks[f"call-{len(self.asks) + 1}"] = ask
        self.provider.arm([] if ask.fault is None else [Rule(ask.fault, "bend")], self.now)
        headers = {"authorization": "Bearer shop", "idempotency-key": ask.key}
        request = HttpRequest("POST", ask.path, (), headers, json.dumps(ask.body).encode())
        self.oracle.settle(self.now)
        expected = self.oracle.arrive(ask, self.now)

        [action] = self.provider.receive(request, self.now)

        self.compare(action, expected)
        self.provider.disarm()

    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        if not self.provider.held:
            return
        call = data.draw(st.sampled_from(sorted(self.provider.held)))
        ask = self.asks[call]
        seam = self.provider.held[call][1].seam
        ask.fault = None
        self.oracle.settle(self.now)
        expected: Seen | None = None
        match seam:
            case "on_receive":
                expected = self.oracle.look_up(ask, self.now)
            case "before_commit":
                expected = self.oracle.execute(ask, self.now)
            case _:
                pass  # the commit is over; what the answer is was compared then

        [action] = self.provider.resume(call, self.now)

        self.compare(action, expected)

    @rule(wait_s=st.sampled_from([1, 5, 400, HOUR_S, DAY_S // 2, DAY_S]))
    def wait(self, wait_s: int) -> None:
        self.now += wait_s

    @rule(faults=st.lists(st.sampled_from(DELIVERY_FAULTS), max_size=2))
    def deliver(self, faults: list[Fault]) -> None:
        self.oracle.settle(self.now)
        self.provider.arm(Rule(fault, f"bend-{n}") for n, fault in enumerate(faults))
        self.attempts += self.provider.attempts_due(self.now)
        self.provider.disarm()

    @rule(place=st.integers(0, 5), status=st.sampled_from([200, 500, None]))
    def answer_the_news(self, place: int, status: int | None) -> None:
        if place < len(self.attempts):
            outcome = NoAnswer("timed out") if status is None else Answered(status)
            self.provider.attempt_finished(self.attempts.pop(place), outcome, self.now)

    def compare(self, action: Action, expected: Seen | None) -> None:
        match action:
            case Held():
                assert expected == HELD
            case Drop():
                assert expected == DROPPED
            case Reply(call, reply):
                assert expected in (None, reply.status), reply.body
                if ("idempotent-replayed", "true") in reply.headers:
                    self.compare_replay(self.asks[call], reply.body)

    def compare_replay(self, ask: Ask, body: bytes) -> None:
        """Every replay in one life of a key says the same."""
        life = f"{ask.key} since {self.oracle.keys[ask.key].since_s}"
        if ask.fault is None:
            assert self.answers.setdefault(life, (ask.asked, body)) == (ask.asked, body)

    @invariant()
    def the_money_is_where_the_oracle_has_it(self) -> None:
        assert self.provider.ledger.discrepancies() == []
        seen = {c.id: (c.captured_minor, c.refunded_minor) for c in self.provider.charges.values()}
        assert seen == {id_: (m.taken, m.back) for id_, m in self.oracle.money.items()}
        posted: dict[str, list[int]] = {id_: [0, 0] for id_ in seen}
        for posting in self.provider.ledger:
            posted[posting.charge][posting.kind == "refund"] += posting.amount_minor
        assert {id_: tuple(sums) for id_, sums in posted.items()} == seen
        taken = sum(money.taken > 0 for money in self.oracle.money.values())
        assert len(self.provider.ledger.real_charges()) == taken

    @invariant()
    def every_effect_has_its_event_and_every_event_is_owed(self) -> None:
        assert len(self.provider.events) == self.oracle.events
        assert len(self.provider.deliveries.by_id) == self.oracle.events

    def teardown(self) -> None:
        """Heal: everybody listens again, and everything that can still be told is told."""
        given_up = {
            id_
            for id_, delivery in self.provider.deliveries.by_id.items()
            if delivery.attempts >= len(Generic.schedule_s)
        }
        while self.attempts or self.provider.next_wakeup() is not None:
            self.provider.hasten(self.now)
            self.attempts += self.provider.attempts_due(self.now)
            for attempt in self.attempts:
                self.provider.attempt_finished(attempt, Answered(204), self.now)
            self.attempts.clear()
        for id_, delivery in self.provider.deliveries.by_id.items():
            assert delivery.acknowledged or id_ in given_up
        self.the_numbers_of_the_attempts_leave_no_gap()
        ProviderMachine.rows |= rows_of(self.provider)

    def the_numbers_of_the_attempts_leave_no_gap(self) -> None:
        assert isinstance(self.provider.sink, Journal)
        numbers: dict[str, list[int]] = {}
        for entry in self.provider.sink.entries:
            if (entry.lane, entry.kind) == ("webhook", "send"):
                numbers.setdefault(entry.value["delivery"], []).append(entry.value["number"])
        for counted in numbers.values():
            assert counted == list(range(1, len(counted) + 1))


def rows_of(provider: Provider) -> set[tuple[Status, Step]]:
    """Read off the events which rows of the table the charges of a provider have used."""
    row_of = {(before, after): (before, step) for (before, step), after in TRANSITIONS.items()}
    last: dict[str, Charge] = {}
    rows = set()
    for event in provider.events.values():
        charge = event.charge
        assert charge is not None
        before = last[charge.id].status if charge.id in last else Status.PENDING
        if charge.status is not Status.PENDING:
            rows.add(row_of[before, charge.status])
        last[charge.id] = charge
    return rows


def test_the_provider_does_what_the_oracle_says_on_every_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ProviderMachine.rows.clear()

    run_state_machine_as_test(
        ProviderMachine,
        # That every row is reached must not depend on luck.
        settings=settings(
            max_examples=150, stateful_step_count=40, deadline=None, derandomize=True
        ),
    )

    share = len(ProviderMachine.rows) / len(TRANSITIONS)
    missed = [f"{before} -{step}->" for before, step in TRANSITIONS.keys() - ProviderMachine.rows]
    with capsys.disabled():
        sys.stdout.write(f"\n{share:.0%} of the transition rows reached; missed: {missed}\n")
    assert not missed


def written(seed: int, plan: int, calls: list[tuple[int, int, bool]]) -> bytes:
    """Run some calls against a plan of chances and return every byte of the journal."""
    provider = Provider(Generic(), seed=seed)
    provider.add_endpoint("http://shop.test/hook", SECRET)
    chance = Random(plan)
    faults = [fault for fault in FAULTS if fault is not None] + DELIVERY_FAULTS
    provider.arm(
        Rule(fault, f"{n}", probability=0.3, times=3)
        for n, fault in enumerate(chance.sample(faults, 6))
    )
    for key, order, resumes in calls:
        body = {"amount_minor": 100 + key, "currency": "EUR", "reference": f"ord-{order}"}
        headers = {"authorization": "Bearer shop", "idempotency-key": f"key-{key}"}
        provider.receive(
            HttpRequest("POST", "/v1/charges", (), headers, json.dumps(body).encode()), key
        )
        for attempt in provider.attempts_due(key):
            provider.attempt_finished(attempt, Answered(200 if resumes else 500), key)
        for held in provider.held if resumes else ():
            provider.resume(held, key)
    assert isinstance(provider.sink, Journal)
    return "\n".join(map(repr, provider.sink.entries)).encode()


@settings(max_examples=300, deadline=None)
@given(
    st.integers(),
    st.integers(0, 1_000),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans()), max_size=12),
)
def test_same_seed_and_same_inputs_write_the_same_bytes(
    seed: int, plan: int, calls: list[tuple[int, int, bool]]
) -> None:
    assert written(seed, plan, calls) == written(seed, plan, calls)
