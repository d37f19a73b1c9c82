"""Every fault, at every seam it bends, on every dialect: found by scan, judged by its bend.

A fault says what it does by the bend it returns. Here each bend has one meaning, which journal,
ledger and answers must show; so a new fault or dialect is tested without a word about it here.
"""

import inspect
import re
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, assert_never, get_args, get_type_hints

import pytest

from simulator.catalogue import dialects, faults
from simulator.core.calls import CreateCharge, ListCharges, Operation, ReadCharge
from simulator.core.deliveries import Delivery
from simulator.core.faults import (
    Answer,
    Bend,
    Break,
    Copies,
    Decline,
    DeliveryBend,
    Emit,
    Fault,
    ForgetKeys,
    Hold,
    IgnoreKey,
    Misreport,
    Postpone,
    Rewrite,
    StayPending,
    Tamper,
    Withhold,
)
from simulator.core.messages import HttpReply, Seam
from simulator.core.rules import Rule

from .conftest import NEIGHBOUR, SHOP

if TYPE_CHECKING:
    from simulator.core.deliveries import Attempt

    from .conftest import AnyShop, Open

SEAMS: tuple[Seam, ...] = get_args(Seam)
CALL_SEAMS = SEAMS[:3]


@dataclass(frozen=True)
class Case:
    dialect: str
    fault: Fault
    seam: Seam

    def __str__(self) -> str:
        return f"{self.dialect}-{self.fault.name}-{self.seam}"

    @property
    def rule(self) -> Rule:
        return Rule(self.fault, "it", times=1)


def at_seam(kind: type[Fault], seam: Seam) -> Fault | None:
    """Return the fault as it bends this seam, if it does."""
    choices = get_args(get_type_hints(kind).get("seam", None))
    if choices:
        return kind(seam=seam) if seam in choices else None  # type: ignore[call-arg]
    return kind() if kind.bends(seam) else None


CASES = [
    Case(dialect, fault, seam)
    for dialect, kind, seam in product(dialects(), faults().values(), SEAMS)
    if (fault := at_seam(kind, seam)) is not None
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
on_calls = pytest.mark.parametrize("case", [c for c in CASES if c.seam in CALL_SEAMS], ids=str)
on_news = pytest.mark.parametrize("case", [c for c in CASES if c.seam not in CALL_SEAMS], ids=str)


def opened(case: Case, shop_at: "Open") -> "AnyShop":
    """Return a shop with a charge of its own and one of its neighbour's, and the rule in force."""
    shop = shop_at(case.dialect)
    shop.live(shop.charge("before", NEIGHBOUR))
    shop.live(shop.charge("ord-0"))
    shop.now += 0.5  # so that nothing is of the same instant, and nothing is old
    shop.provider.arm([case.rule], shop.now)
    return shop


@every_case
def test_it_strikes_and_is_written_down_and_everything_goes_on(case: Case, shop_at: "Open") -> None:
    shop = opened(case, shop_at)

    shop.live(shop.charge("ord-1"))
    shop.live(shop.ask(ReadCharge(shop.captured("ord-0")[0])))
    shop.now += 400 * 86_400.0
    shop.news()

    assert shop.provider.plan.fired == {"it": 1}
    [fired] = shop.entries("effect", "fired", rule="it", fault=case.fault.name)
    assert fired.lane == "fault"
    assert fired.cause is not None
    assert not shop.provider.held
    assert shop.provider.ledger.discrepancies() == []
    plain, told = shop.live(shop.charge("ord-2"))
    assert plain is not None
    assert 200 <= plain.status < 300
    assert len(shop.captured("ord-2")) == 1
    assert told


@every_case
def test_it_has_a_sentence_and_says_whether_it_is_fair(case: Case) -> None:
    first = (inspect.getdoc(type(case.fault)) or "").split("\n\n")[0]

    assert re.fullmatch(r"[A-Z][^.]{30,}\.( .*)?", first, re.DOTALL)
    assert isinstance(case.fault.fair, bool)
    assert case.fault.fair or any(
        word in (inspect.getdoc(type(case.fault)) or "")
        for word in ("Unfair", "although", "breaks", "not in")
    )


@on_calls
def test_what_happens_to_a_call_is_what_its_bend_says(case: Case, shop_at: "Open") -> None:
    shop = opened(case, shop_at)
    truth, _ = shop_at(case.dialect).live(shop_at(case.dialect).charge("ord-1"))
    assert truth is not None
    lookup = ReadCharge(shop.captured("ord-0")[0])
    charge = CreateCharge(500, "EUR", "ord-1", "cus-1")
    dialect = shop.provider.dialect
    request = dialect.ask(charge, SHOP, "key-ord-1")
    shop.calls = 3
    bend = bend_of(case, shop, request, truth)
    if bend is None:  # it bends lookups only
        request = dialect.ask(lookup, SHOP)
        bend = bend_of(case, shop, request, truth)
        assert bend is not None
        shop.calls = 2
        reply, _ = shop.live(shop.ask(lookup))
        looked_up(bend, shop, reply, lookup)
    else:
        shop.calls = 2
        reply, _ = shop.live(shop.ask(charge, "key-ord-1"))
        happened(bend, case, shop, reply)


def bend_of(case: Case, shop: "AnyShop", request: Any, truth: HttpReply) -> Bend | None:
    order = "ord-0" if request.method == "GET" else "ord-1"
    call = shop.read_as(request, order)
    match case.seam:
        case "on_receive":
            return case.fault.on_receive(call)
        case "before_commit":
            return case.fault.before_commit(call)
        case _:
            return case.fault.after_commit(call, truth)


def happened(bend: Bend, case: Case, shop: "AnyShop", reply: HttpReply | None) -> None:
    """Check that a charge went as the bend has it."""
    made = len(shop.captured("ord-1"))
    committed = case.seam == "after_commit"
    match bend:
        case Hold(until):
            [park] = shop.entries("park", "call", seam=case.seam, condition=until.condition)
            assert shop.entries("release", "call", call=park.value["call"])
            assert reply is not None
            assert made == 1
        case Answer(status):
            assert reply is not None
            assert reply.status >= 400
            assert status in (None, reply.status)
            assert shop.entries("send", "reply", call="call-3", status=reply.status)
            assert made == committed
        case Break(how):
            assert shop.entries("drop", "reply", call="call-3", how=how)
            assert reply is None
            assert made == committed
        case Rewrite(instead):
            assert reply is not None
            assert reply.status == instead.status
            assert dict(reply.headers).get("content-type") == dict(instead.headers)["content-type"]
            assert made == 1
        case IgnoreKey():
            shop.provider.arm([replace(case.rule, times=None)])
            shop.live(shop.charge("ord-1"))
            assert len(shop.captured("ord-1")) == 2
        case ForgetKeys():
            shop.provider.arm([case.rule])
            shop.live(shop.charge("ord-1"))
            assert len(shop.captured("ord-1")) == 2
        case Decline(code):
            assert shop.entries("effect", "charge.declined", reference="ord-1")
            assert code
            assert made == 0
        case StayPending():
            assert shop.entries("effect", "charge.pending", reference="ord-1")
        case Misreport():
            pytest.fail("a charge is no lookup")
        case _:
            assert_never(bend)


def looked_up(bend: Bend, shop: "AnyShop", reply: HttpReply | None, lookup: ReadCharge) -> None:
    """Check that a lookup went as the bend has it, and that the next one tells the truth."""
    assert reply is not None
    match bend:
        case Answer(status):
            assert reply.status == status
        case Misreport():
            told_truth, _ = shop.live(shop.ask(lookup))
            assert told_truth is not None
            assert told_truth.status == 200
            assert told_truth.body != reply.body
            assert reply.status in (200, 404)
        case _:
            pytest.fail(f"{bend} is for lookups only?")
    assert len(shop.captured("ord-0")) == 1


@on_news
def test_what_happens_to_the_news_is_what_its_bend_says(case: Case, shop_at: "Open") -> None:
    shop = opened(case, shop_at)
    shop.live(shop.charge("ord-1"))
    shop.provider.disarm()
    delivery, bend = next(  # not every event need be one that the fault bends
        (each, bend)
        for each in shop.provider.deliveries.by_id.values()
        if each.event.order == "ord-1" and each.event.repeats is None
        if (bend := case.fault.on_delivery(as_it_was(each))) is not None
    )
    event = delivery.event
    told = shop.entries("send", "attempt", delivery=delivery.id)
    happened_to_news(bend, shop, delivery.id, told)

    shop.now += 400 * 86_400.0
    late = shop.news()

    if case.fault.fair:
        assert delivery.acknowledged
        assert {d.event.id for d in shop.provider.deliveries.by_id.values() if d.acknowledged} == (
            set(shop.provider.events)
        )
    assert all(attempt.event.account == event.account for attempt in late)


def as_it_was(delivery: Delivery) -> Delivery:
    return replace(delivery, attempts=0, postponed=0, overtakes=False)


def happened_to_news(bend: DeliveryBend, shop: "AnyShop", delivery: str, told: list[Any]) -> None:
    """Check that the first news of an event went as the bend has it."""
    match bend:
        case Copies(count, gap_s=gap_s):
            assert len(told) == (1 if gap_s else count)
            shop.now += gap_s
            shop.news()
            assert len(shop.entries("send", "attempt", delivery=delivery)) == count
        case Emit(guises, place):
            more = [e for e in shop.entries("effect", "event.created") if "repeats" in e.value]
            assert len(more) == len(guises)
            for guise, entry in zip(guises, more, strict=True):
                event = shop.provider.events[entry.value["event"]]
                assert guise.type in (None, event.type, event.fact)
                assert shop.entries("ok", "attempt", event=entry.value["event"])
            sends = [e.value["delivery"] for e in shop.entries("send", "attempt")]
            leader = next(d for d in shop.provider.deliveries.by_id.values() if d.event.repeats)
            comes_first = sends.index(delivery) < sends.index(leader.id)
            assert comes_first is (place != "before")
        case Tamper():
            assert len(told) == 1
        case Postpone(until_overtaken=True) if told:  # a later event of the order came already
            sends = [e for e in shop.entries("send", "attempt") if e.order == "ord-1"]
            assert sends[0].value["delivery"] != delivery
        case Postpone(delay_s):
            assert told == []
            shop.now += delay_s
            assert shop.news()
        case Withhold():
            assert told == []
        case _:
            assert_never(bend)


TAMPERING = [c for c in CASES if c.seam == "on_delivery"]


@pytest.mark.parametrize("case", TAMPERING, ids=str)
def test_a_tampered_message_differs_from_the_true_one_where_its_bend_says(
    case: Case, shop_at: "Open"
) -> None:
    shop = opened(case, shop_at)
    shop.charge("ord-1")
    attempts: list[Attempt] = shop.provider.attempts_due(shop.now)
    for attempt in attempts:
        tamper = attempt.tamper
        sent = shop.provider.message(attempt, 1_800_000_000.0)
        plain = shop.provider.message(replace(attempt, tamper=Tamper()), 1_800_000_000.0)
        endpoint = shop.provider.deliveries.by_id[attempt.delivery].endpoint
        match tamper.signature:
            case "right":
                assert attempt.secret == endpoint.secret
            case "wrong" | "foreign":
                assert attempt.secret != endpoint.secret
            case "missing":
                assert sent.headers.keys() < plain.headers.keys()
            case "old":
                assert sent.headers != plain.headers
        if tamper.guise is not None:
            true_event = shop.provider.deliveries.by_id[attempt.delivery].event
            true = shop.provider.message(replace(attempt, event=true_event), 1_800_000_000.0)
            assert (sent.body, sent.headers) != (true.body, true.headers)
        elif tamper.signature != "old":
            assert sent.body == plain.body


@pytest.mark.parametrize("name", dialects())
@pytest.mark.parametrize(
    "params",
    [
        CreateCharge(500, "EUR", "ord-1", "cus-1", metadata={"a": "b"}),
        ReadCharge("ch_1"),
        ListCharges(),
    ],
    ids=lambda params: params.operation,
)
def test_a_dialect_reads_what_it_writes(
    name: str, params: CreateCharge | ReadCharge | ListCharges
) -> None:
    dialect = dialects()[name]

    request = dialect.ask(params, SHOP, "key-1")
    assert request is not None
    read = dialect.read(request)

    assert isinstance(read, Operation)
    assert (read.params.operation, read.key) == (params.operation, "key-1")


def test_numbers_have_bounds() -> None:
    for kind in faults().values():
        hints = get_type_hints(kind)
        numeric = {f.name for f in fields(kind) if hints[f.name] in {int, float}}  # type: ignore[arg-type]
        assert numeric - {"seed"} == set(kind.bounds()), kind.name
        for name, bounds in kind.bounds().items():
            for bad in (bounds.least - 1, bounds.most + 1):
                with pytest.raises(ValueError, match=f"{name} must be"):
                    kind(**{name: bad})
