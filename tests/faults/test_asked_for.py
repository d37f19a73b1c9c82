"""What is asked for from outside: faults by the request itself, events at will, events forged."""

from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.calls import ListCharges
from simulator.core.charges import Charge, Status
from simulator.core.deliveries import Answered
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.journal import Journal
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.generic import Generic
from simulator.faults.lookup_fails import LookupFails
from simulator.faults.lose_reply import LoseReply
from simulator.faults.old_signature import OldSignature
from simulator.faults.redeliver import Redeliver

from .conftest import SECRET, Shop

if TYPE_CHECKING:
    from .conftest import Build

KNOWN = {
    "lose": (Rule(LoseReply(), "asked:lose", times=1),),
    "twice": (Rule(LoseReply(), "asked:twice", times=2),),
    "fail": (Rule(LookupFails(), "asked:fail", times=1),),
    "copies": (Rule(Redeliver(3), "asked:copies", times=1),),
}


def read_chain(text: str) -> tuple[Rule, ...]:
    if text not in KNOWN:
        raise ValueError(f"faults: {text} is none")
    return KNOWN[text]


@pytest.fixture
def shop() -> Shop:
    journal = Journal()
    return Shop(Provider(Generic(), sink=journal, read_chain=read_chain), journal)


def asking(chain: str) -> Any:
    return {"metadata": {"onecharge_faults": chain}}


def test_what_a_call_asks_for_strikes_once_under_its_key(shop: Shop) -> None:
    assert shop.how(shop.charge(**asking("lose"))) == "reset"
    assert shop.status(shop.charge(**asking("lose"))) == 201
    assert shop.how(shop.charge(key="key-2", **asking("lose"))) == "reset"


def test_or_as_often_as_it_says(shop: Shop) -> None:
    assert [shop.how(shop.charge(**asking("twice"))) for _ in range(2)] == ["reset", "reset"]
    assert shop.status(shop.charge(**asking("twice"))) == 201
    assert shop.captured() == ["ch_1"]


def test_a_header_goes_before_a_field_and_needs_no_key(shop: Shop) -> None:
    request = Generic().ask(ListCharges(), "shop")
    headers = {**request.headers, "onecharge-faults": "fail"}
    for _ in range(2):
        asked = type(request)("GET", request.path, (), headers)
        [action] = shop.provider.receive(asked, shop.now)
        assert shop.status(action) == 503


def test_the_news_of_the_call_is_bent_and_no_other(shop: Shop) -> None:
    shop.listen()
    shop.charge(**asking("copies"))
    shop.charge("ord-2", "key-2")

    assert sorted(each.event.id for each in shop.news()) == ["evt_1"] * 3 + ["evt_2"]


def test_nonsense_is_answered_and_executes_nothing(shop: Shop) -> None:
    refused = shop.charge(**asking("nonsense"))

    assert (shop.status(refused), shop.data(refused)["detail"]) == (400, "faults: nonsense is none")
    assert shop.captured() == []
    assert shop.status(shop.charge()) == 201


def test_who_reads_no_chains_minds_none(provider: "Build") -> None:
    assert provider().status(provider().charge(**asking("nonsense"))) == 201


def test_an_event_comes_again_one_by_one_at_once_or_anew(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    shop.news()

    for how, sizes in (({}, [1, 1]), ({"concurrent": True}, [2]), ({"new_id": True}, [2])):
        shop.provider.duplicate("evt_1", shop.now, copies=2, **how)
        seen = []
        while attempts := shop.provider.attempts_due(shop.now):
            seen.append(len(attempts))
            assert len(shop.provider.deliveries.attempts_in_flight()) == len(attempts)
            for attempt in attempts:
                shop.provider.attempt_finished(attempt, Answered(200), shop.now)
        assert seen == sizes

    assert list(shop.provider.events) == ["evt_1", "evt_2", "evt_3"]
    with pytest.raises(KeyError):
        shop.provider.duplicate("evt_9", shop.now)


@pytest.mark.parametrize("answer", [200, 401])
def test_a_forged_event_is_told_once_and_was_never_born(provider: "Build", answer: int) -> None:
    shop = provider()
    shop.listen()
    shop.provider.add_endpoint("http://neighbour.test/", SECRET, "neighbour")
    charge = Charge("ch_9", "shop", 500, "EUR", "ord-9", status=Status.CAPTURED)

    [attempt] = shop.provider.forge(
        Event("evt_x", "charge.captured", charge, None, 0.0, None), Tamper("wrong"), shop.now
    )
    shop.provider.attempt_finished(attempt, Answered(answer), shop.now)

    assert attempt.secret == Generic.foreign_secret
    assert shop.entries("attempt", "send")[0].value["forged"] is True
    assert shop.provider.deliveries.unfinished == 0
    assert dict(shop.provider.events) == {}


def test_an_old_signature_is_the_right_one_of_long_ago(provider: "Build") -> None:
    shop = provider(Rule(OldSignature(age_s=600), "old"))
    shop.listen()
    shop.charge()
    old = shop.news(401)
    shop.provider.hasten(shop.now)
    stamps = [
        int(shop.provider.message(each, 10_000.0).headers["webhook-timestamp"])
        for each in (*old, *shop.news())
    ]

    assert stamps == [9_400, 10_000]


def test_chance_can_begin_anew_under_a_plan(provider: "Build") -> None:
    shop = provider(Rule(LookupFails(), "maybe", probability=0.5))

    def draw() -> list[int]:
        shop.provider.plan.reseed(3)
        return [shop.status(shop.send("GET", "/v1/charges")) for _ in range(16)]

    assert draw() == draw()
    assert set(draw()) == {200, 503}
