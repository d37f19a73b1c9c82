"""The provider: a machine without I/O that is fed requests and says what to answer.

Rule 1: time and chance come in; ids come from counters. Same seed and same inputs, same bytes.
Rule 2: what went in is lived to its end, whether or not its caller stays (``life.py``).
Rule 3: it knows *that* a call is held and released, never why; conditions live outside.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Literal, assert_never

from simulator.core.bank import Bank
from simulator.core.calls import (
    Call,
    CreateCharge,
    ListCharges,
    ListEvents,
    Operation,
    Params,
    ReadEvent,
    ResendEvent,
    Unreadable,
)
from simulator.core.cashier import INTENT_NEWS
from simulator.core.chains import Chains
from simulator.core.charges import Charge
from simulator.core.deliveries import Attempt, AttemptOutcome, Deliveries, Delivery, Endpoint
from simulator.core.desk import Desk
from simulator.core.desk_calls import DeskCall
from simulator.core.dialect import Dialect
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.idempotency import KeyStore
from simulator.core.invoices import Invoice
from simulator.core.journal import PROVIDER, Entry, Journal, Sink
from simulator.core.ledger import Ledger
from simulator.core.life import Life
from simulator.core.messages import Action, Drop, Held, HttpRequest, Reply, Waiting
from simulator.core.news import News
from simulator.core.pending import Pending
from simulator.core.results import Problem
from simulator.core.rules import Plan, Rule
from simulator.core.works import Works

Keys = Literal["honoured", "ignored"]


class Provider:
    """A payment provider that charges, remembers keys, sends news, and goes wrong on demand.

    ``now`` is always seconds of virtual time. ``sink`` takes every journal entry as it happens.
    ``namespace`` goes into every id the outside sees, so that a service that lives through two
    providers never meets one id twice. One whose ``keys`` are ignored executes every call.
    ``read_chain`` reads the faults that a request asks for itself, in the header
    ``onecharge-faults`` or the metadata field ``onecharge_faults``.
    """

    def __init__(
        self,
        dialect: Dialect,
        *,
        seed: int = 0,
        sink: Sink | None = None,
        namespace: str = "",
        keys: Keys = "honoured",
        read_chain: Callable[[str], tuple[Rule, ...]] | None = None,
    ) -> None:
        self.dialect = dialect
        self.seed = seed
        self.sink: Sink = Journal() if sink is None else sink
        self.plan = Plan(Random(seed))
        self._bank = Bank(namespace)
        self._news = News(dialect, self.plan, self.sink, namespace)
        self._keys = KeyStore(dialect.keys)
        self.keys = keys
        self._pending = Pending()
        self._desk = Desk(self._bank, self._news, namespace)
        self._works = Works(
            dialect,
            self._bank,
            self._desk,
            self._keys,
            self._news,
            self._pending,
            self.plan,
            self.sink,
        )
        self._held: dict[str, Life] = {}
        self._waiting: dict[str, list[Life]] = {}
        self._calls = 0
        self._chains = Chains(read_chain)

    # What anyone may read.

    @property
    def ledger(self) -> Ledger:
        """The truth about real charges."""
        return self._bank.ledger

    @property
    def charges(self) -> Mapping[str, Charge]:
        """Every charge by id, as it now is, oldest first."""
        return self._bank.charges

    @property
    def events(self) -> Mapping[str, Event]:
        """Every event by id, oldest first."""
        return self._news.events

    @property
    def deliveries(self) -> Deliveries:
        """Who was to be told of what, and how that went. Not to be written from outside."""
        return self._news.deliveries

    @property
    def held(self) -> dict[str, tuple[Call, Held]]:
        """The calls that are being held, by id, and where; the longest held first."""
        return {id_: (life.call, life.held) for id_, life in self._held.items() if life.held}

    @property
    def keys(self) -> Keys:
        """Whether idempotency keys mean anything to this provider; it may be set at any time."""
        return "honoured" if self._keys.honoured else "ignored"

    @keys.setter
    def keys(self, keys: Keys) -> None:
        self._keys.honoured = keys == "honoured"

    @property
    def known_keys(self) -> int:
        """How many idempotency keys are in flight or remembered."""
        return len(self._keys)

    # Calls come in and are answered.

    def receive(self, request: HttpRequest, now: float) -> list[Action]:
        """Take a request in, and say what to do with its caller."""
        if self._pending.next_s <= now:
            self.settle_due(now)
        self._calls += 1
        call_id = f"call-{self._calls}"
        read = self.dialect.read(request)
        match read:
            case Operation():
                return self._begin(call_id, request, read, now)
            case Unreadable():
                return self._turn_away(call_id, request, read)
            case _:
                assert_never(read)

    def resume(self, call_id: str, now: float, reason: str = "released") -> list[Action]:
        """Let a held call go on, and say what to do with its caller.

        The ends of the calls that waited for it follow. If it is not held, nothing is to be done.
        """
        self.settle_due(now)
        life = self._held.pop(call_id, None)
        return [] if life is None else self._go_on(life, now, reason)

    # Things go wrong.

    def arm(self, rules: Iterable[Rule], now: float = 0.0, *, seed: int | None = None) -> None:
        """Put these rules in force instead of the present ones; windows count from ``now``.

        With a ``seed``, the plan's chance begins anew.
        """
        self.plan.arm(rules, now, seed=seed)

    def disarm(self) -> None:
        """End all faults. What has fired stays known; calls already held stay held."""
        self.plan.stop()

    # The news goes out.

    def add_endpoint(self, url: str, secret: str, account: str | None = None) -> Endpoint:
        """Tell ``url`` of every event to come, of one account or of all."""
        endpoint = Endpoint(url, self._sound(secret), account)
        self.deliveries.add_endpoint(endpoint)
        return endpoint

    def rotate_secret(
        self, url: str, secret: str, account: str | None = None, *, now: float, keep_s: float
    ) -> Endpoint:
        """Sign with a new secret, and until ``keep_s`` from now with the old one as well.

        Raises ``KeyError`` if there is no such endpoint.
        """
        endpoint = self.deliveries.endpoint(url, account)
        endpoint.rotate(self._sound(secret), old_until_s=now + keep_s)
        return endpoint

    def remove_endpoint(self, url: str, account: str | None = None) -> None:
        """Stop telling ``url`` anything; what is still due to it is never sent."""
        self.deliveries.remove_endpoint(url, account)

    def resend(self, event_id: str, now: float) -> list[Delivery]:
        """Deliver an event once more, under its old id, to all endpoints. Raises ``KeyError``."""
        return self._news.owe(self.events[event_id], now)

    def bill(self, invoice: Invoice, now: float) -> Event:
        """Tell the endpoints that an invoice is due. Only a dialect that ``bills`` has invoices."""
        assert self.dialect.bills, f"{self.dialect.name} has no invoices"
        return self._news.bill(invoice, now)

    def duplicate(
        self,
        event_id: str,
        now: float,
        *,
        copies: int = 2,
        concurrent: bool = False,
        new_id: bool = False,
    ) -> list[Delivery]:
        """Deliver an event so many times more, to all endpoints. Raises ``KeyError``.

        One after the other's acknowledgement or all at once; with ``new_id`` each is an event
        of its own, and all are due at once.
        """
        return self._news.repeat(
            self.events[event_id], now, copies=copies, concurrent=concurrent, new_id=new_id
        )

    def forge(self, event: Event, tamper: Tamper, now: float) -> list[Attempt]:
        """Begin to tell its account's endpoints of an event that is not true, once.

        One of a charge shows it, or its intent, as this dialect's events of that type do.
        """
        if event.thing is None and event.charge is not None:
            of_intent = event.type in {self.dialect.event_type(name) for name in INTENT_NEWS}
            thing = self._desk.portrait(event.charge, of_intent=of_intent)
            event = replace(event, thing=thing)
        return self._news.forge(event, tamper, now)

    def hasten(self, now: float, orders: Collection[str] | None = None) -> None:
        """Let every attempt and every decision of the bank be due now; time stands still.

        With ``orders``, only what concerns one of them.
        """
        self._pending.hasten(now, orders)
        self.deliveries.hasten(now, orders)

    def attempts_due(self, now: float) -> list[Attempt]:
        """Settle what is due, begin every attempt that is due, and return them for sending."""
        self.settle_due(now)
        return self._news.attempts_due(now)

    def message(self, attempt: Attempt, wall_s: float) -> HttpRequest:
        """Return the signed POST of an attempt; ``wall_s`` is real time, ``path`` the URL."""
        tamper, event, url = attempt.tamper, attempt.event, attempt.url
        signed_s = wall_s - tamper.age_s
        signed = self.dialect.message(event, url, attempt.secrets, signed_s)
        if tamper.signature != "missing":
            return signed
        # What changes with the secret is the signature, whatever the dialect calls it.
        other = self.dialect.message(event, url, (self.dialect.foreign_secret,), signed_s)
        kept = {
            name: value
            for name, value in signed.headers.items()
            if other.headers.get(name) == value
        }
        return replace(signed, headers=kept)

    def attempt_finished(self, attempt: Attempt, outcome: AttemptOutcome, now: float) -> None:
        """Take in what became of an attempt. Told twice, the second time means nothing."""
        self._news.attempt_finished(attempt, outcome, now)

    def next_wakeup(self) -> float | None:
        """Return when ``attempts_due`` will next have something to do, in virtual seconds."""
        decision_s, attempt_s = self._pending.next_s, self._news.deliveries.next_wakeup()
        if attempt_s is None:
            return decision_s if self._pending else None
        return min(decision_s, attempt_s)

    @property
    def unfinished(self) -> int:
        """How many attempts and how many decisions of the bank are still to come."""
        return self.deliveries.unfinished + len(self._pending)

    def unfinished_of(self, orders: Collection[str]) -> int:
        """Return how much of that concerns one of these orders."""
        return self.deliveries.unfinished_of(orders) + self._pending.of(orders)

    def settle_due(self, now: float) -> None:
        """Let the bank decide on every pending charge whose time has come.

        ``receive``, ``resume`` and ``attempts_due`` do it first, so nobody has to call it.
        """
        while self._pending.next_s <= now:
            undecided = self._pending.take()
            change = self._bank.settle(
                undecided.charge, capture=undecided.capture, decline=undecided.decline
            )
            if change is not None:
                self._works.write_down(
                    change,
                    undecided.call,
                    now,
                    key_honoured=undecided.key_honoured,
                    notices=self._desk.follow(change, now),
                    asked=False,
                )

    # How it is done.

    def _begin(
        self, call_id: str, request: HttpRequest, operation: Operation, now: float
    ) -> list[Action]:
        params, account, key = operation.params, operation.account, operation.key
        objection = self._keys.objection(params.operation, key)
        if objection == "key_invalid":
            key = None  # what cannot be a key is not written down as one
        order = self._order_of(params, account)
        try:
            faults = self._chains.asked_by(operation, key, request)
        except ValueError as unclear:
            problem = Problem("bad_request", _legible(str(unclear))[:500])
            unread = Unreadable(problem, params.operation, account, key)
            return self._turn_away(call_id, request, unread)
        cause = self.sink(_receipt(call_id, params.operation, request, order, (account, key)))
        call = Call(
            call_id,
            params.operation,
            account,
            key,
            order,
            params,
            operation.fingerprint,
            request,
            cause,
            faults,
        )
        return self._go_on(Life(call, self._works, objection), now)

    def _sound(self, secret: str) -> str:
        """Return a webhook secret if it is one in this dialect."""
        if not self.dialect.accepts_secret(secret):
            raise ValueError(f"not a webhook secret of the dialect {self.dialect.name}")
        return secret

    def _go_on(self, life: Life, now: float, reason: str | None = None) -> list[Action]:
        """Let a call live on, and then those that have waited for it."""
        action = life.go_on(now, reason)
        match action:
            case Reply() | Drop():
                pass
            case Held(call):
                self._held[call] = life
            case Waiting(behind=first):
                self._waiting.setdefault(first, []).append(life)
            case _:
                assert_never(action)
        actions: list[Action] = [action]
        if self._waiting and not life.in_flight:
            for waiter in self._waiting.pop(life.call.id, ()):
                ends = self._go_on(waiter, now, "first_done")
                actions += [end for end in ends if not isinstance(end, Waiting)]
        return actions

    def _turn_away(self, call_id: str, request: HttpRequest, unread: Unreadable) -> list[Action]:
        """Answer what cannot be read. It never becomes a call, so no fault can bend it."""
        account, key = unread.account, unread.key
        cause = self.sink(_receipt(call_id, unread.operation, request, None, (account, key)))
        reply = self.dialect.addressed(self.dialect.answer(unread.problem), call_id)
        value = {
            "what": "reply",
            "call": call_id,
            "status": reply.status,
            "charge": None,
            "replayed": False,
        }
        self.sink(Entry(PROVIDER, "send", value, None, account, key, cause))
        return [Reply(call_id, reply)]

    def _order_of(self, params: Params, account: str) -> str | None:
        """Return the merchant's reference that a call carries, or that of what it names."""
        match params:
            case CreateCharge(reference=reference) | ListCharges(reference=reference):
                return reference
            case ReadEvent(event=event_id) | ResendEvent(event=event_id):
                event = self._news.find(event_id, account)
                return event.order if event else None
            case ListEvents():
                return None
            case DeskCall():
                return self._desk.order_of(params, account)
            case _:
                return self._bank.order_of(params.charge, account)


def _receipt(
    call_id: str,
    operation: str,
    request: HttpRequest,
    order: str | None,
    whose: tuple[str | None, str | None],
) -> Entry:
    """Return the entry of a call's arrival; ``whose`` are its account and its key."""
    value = {
        "what": "call",
        "call": call_id,
        "operation": operation,
        "method": request.method if request.method.isascii() else _legible(request.method),
        "path": request.path if request.path.isascii() else _legible(request.path),
        "source": request.source,
    }
    return Entry(PROVIDER, "receive", value, order, *whose)


def _legible(text: str) -> str:
    """Return text that can be written as UTF-8, whatever came off the wire."""
    return text.encode("utf-8", "backslashreplace").decode()
