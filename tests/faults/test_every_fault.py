"""What must hold of every fault there is: this file finds them by itself."""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import simulator.faults
from simulator.core.calls import Call, CreateCharge, ReadCharge
from simulator.core.charges import Charge, Status
from simulator.core.deliveries import Delivery, Endpoint
from simulator.core.events import Event
from simulator.core.faults import Bend, DeliveryBend, Fault
from simulator.core.messages import Action, Held, HttpReply, HttpRequest, Seam
from simulator.core.rules import Rule

if TYPE_CHECKING:
    from .conftest import Build, Shop

SEAMS: tuple[Seam, ...] = ("on_receive", "before_commit", "after_commit", "on_delivery")
CALL = Call(
    "call-1",
    "charge.create",
    "shop",
    "key-1",
    "ord-1",
    CreateCharge(500, "EUR"),
    "same",
    HttpRequest("POST", "/v1/charges"),
    0,
)
LOOKUP = replace(CALL, operation="charge.read", params=ReadCharge("ch_1"))
CHARGE = Charge("ch_1", "shop", 500, "EUR", status=Status.CAPTURED, captured_minor=500)
EVENT = Event("evt_1", "charge.captured", CHARGE, None, 0, 0)


def found() -> Iterator[tuple[str, type[Fault]]]:
    for module in pkgutil.iter_modules(simulator.faults.__path__):
        for kind in vars(import_module(f"simulator.faults.{module.name}")).values():
            if inspect.isclass(kind) and issubclass(kind, Fault) and kind is not Fault:
                yield module.name, kind


FAULTS = dict(found())
every_fault = pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)


def test_every_file_is_one_fault() -> None:
    names = [module.name for module in pkgutil.iter_modules(simulator.faults.__path__)]

    assert [name for name, _ in found()] == names
    assert len(names) >= 42


@every_fault
def test_a_fault_is_named_as_its_file(kind: type[Fault]) -> None:
    assert FAULTS[kind.name] is kind


@every_fault
def test_a_fault_says_in_a_sentence_what_goes_wrong(kind: type[Fault]) -> None:
    first = (inspect.getdoc(kind) or "").split("\n\n")[0]

    assert re.fullmatch(r"[A-Z].{30,}\.", first, re.DOTALL)


@every_fault
def test_a_fault_is_a_value(kind: type[Fault]) -> None:
    assert is_dataclass(kind)
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
    for field in fields(kind):
        with pytest.raises(AttributeError):
            setattr(kind(), field.name, None)


@every_fault
def test_a_fault_bends_at_least_one_seam_with_a_bend(kind: type[Fault]) -> None:
    fault = kind()
    delivery = Delivery("dlv-1", EVENT, Endpoint("http://shop.test/", "whsec_eA=="))
    delivery.foreign_id = "evt_0"
    bends = [
        fault.on_receive(CALL),
        fault.before_commit(CALL) or fault.before_commit(LOOKUP),
        fault.after_commit(CALL, HttpReply(201)),
        fault.on_delivery(delivery),
    ]

    assert any(bends)
    assert all(bend is None or isinstance(bend, Bend | DeliveryBend) for bend in bends)
    for seam, bend in zip(SEAMS, bends, strict=True):
        assert bend is None or kind.bends(seam)


def run(shop: "Shop", calls: int = 3) -> None:
    """Send one order several times under one key, release what is held, answer the news.

    Between the calls somebody looks up what happened, and another account has news as well.
    """
    shop.listen()
    live(shop, shop.charge("elsewhere", "key-0", "another"))
    for _ in range(calls):
        live(shop, shop.charge())
        live(shop, shop.send("GET", "/v1/charges/ch_1"))


def live(shop: "Shop", action: Action) -> None:
    """Let a call come to its end, and the news of it arrive."""
    shop.news()
    while isinstance(action, Held):
        action = shop.resume(action)
    shop.news()


@every_fault
def test_a_fault_strikes_when_armed_and_is_written_down(
    kind: type[Fault], provider: "Build"
) -> None:
    shop = provider(Rule(kind(), "it"))

    run(shop)

    fired = shop.entries("fired")
    assert shop.provider.plan.fired["it"] == len(fired) > 0
    assert {(e.value["rule"], e.value["fault"]) for e in fired} == {("it", kind.name)}


@every_fault
def test_after_the_fault_the_order_can_be_paid_once(kind: type[Fault], provider: "Build") -> None:
    shop = provider(Rule(kind(), "it", times=1))

    run(shop)

    assert shop.provider.ledger.discrepancies() == []
    assert len(shop.captured("ord-1")) <= 1 or not kind.fair


@every_fault
def test_a_fault_breaks_no_word_of_a_fair_provider(kind: type[Fault], provider: "Build") -> None:
    shop = provider(Rule(kind(), "it", operation="charge.create"), Rule(kind(), "news", "delivery"))

    run(shop, calls=5)
    shop.provider.disarm()
    listed = shop.send("GET", "/v1/charges", query=(("reference", "ord-1"),))
    captured = shop.captured("ord-1")
    shop.provider.hasten(shop.now)
    shop.news()

    shown = [c["id"] for c in shop.data(listed)["data"] if c["captured_minor"]]
    assert shown == captured
    told = {d.event.id for d in shop.provider.deliveries.by_id.values() if d.acknowledged}
    if kind.fair:
        assert len(shop.captured("ord-1")) <= 1
        assert told == set(shop.provider.events)


@every_fault
def test_every_call_ends_in_exactly_one_answer_or_drop(
    kind: type[Fault], provider: "Build"
) -> None:
    shop = provider(Rule(kind(), "it"))

    run(shop)

    ends = [e.value["call"] for e in shop.entries("reply")]
    assert sorted(ends) == [f"call-{number}" for number in range(1, 8)]
    parked = shop.entries("call", "park")
    assert len(parked) == len(shop.entries("call", "release"))


@every_fault
def test_the_same_seed_writes_the_same_journal(kind: type[Fault], provider: "Build") -> None:
    shops = [provider(Rule(kind(), "it", probability=0.5), seed=3) for _ in range(2)]
    for shop in shops:
        run(shop)

    assert shops[0].journal.entries == shops[1].journal.entries
