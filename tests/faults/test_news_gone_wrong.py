"""News in the wrong order, number, time and form, told one by one."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.deliveries import Answered
from simulator.core.rules import Rule
from simulator.faults.alias_events import AliasEvents
from simulator.faults.decline import Decline
from simulator.faults.delay_delivery import DelayDelivery
from simulator.faults.drop_delivery import DropDelivery
from simulator.faults.foreign_account import ForeignAccount
from simulator.faults.foreign_signature import ForeignSignature
from simulator.faults.garbage_reply import GarbageReply
from simulator.faults.identical_body import IdenticalBody
from simulator.faults.late_failure_after_success import LateFailureAfterSuccess
from simulator.faults.missing_signature import MissingSignature
from simulator.faults.oversized_event import OversizedEvent
from simulator.faults.redeliver import Redeliver
from simulator.faults.redeliver_after_days import RedeliverAfterDays
from simulator.faults.reorder_deliveries import ReorderDeliveries
from simulator.faults.stale_snapshot import StaleSnapshot
from simulator.faults.success_after_failure import SuccessAfterFailure
from simulator.faults.wrong_content_type import WrongContentType

if TYPE_CHECKING:
    from simulator.core.deliveries import Attempt

    from .conftest import Build, Shop

DAY_S = 86_400.0


def told(attempts: "list[Attempt]") -> list[tuple[str, str]]:
    return [(attempt.event.id, attempt.event.type) for attempt in attempts]


def body(shop: "Shop", attempt: "Attempt") -> Any:
    return json.loads(shop.provider.message(attempt, 1_800_000_000.0).body)


def refund(shop: "Shop", amount_minor: int, key: str) -> None:
    shop.send("POST", "/v1/charges/ch_1/refunds", {"amount_minor": amount_minor}, key=key)


def test_delayed_news_comes_when_its_time_has_come_and_once(provider: "Build") -> None:
    shop = provider(Rule(DelayDelivery(delay_ms=30_000), "late"))
    shop.listen()
    shop.charge()

    assert shop.news() == []
    assert shop.provider.next_wakeup() == 30.0
    shop.now = 30.0
    assert told(shop.news()) == [("evt_1", "charge.captured")]
    assert shop.provider.plan.fired == {"late": 1}


def test_the_second_news_overtakes_the_first(provider: "Build") -> None:
    shop = provider(Rule(ReorderDeliveries(), "turned"))
    shop.listen()
    shop.charge()
    refund(shop, 100, "key-2")
    refund(shop, 100, "key-3")
    refund(shop, 100, "key-4")

    assert [event for event, _ in told(shop.news())] == ["evt_2", "evt_4", "evt_1", "evt_3"]
    assert shop.provider.deliveries.unfinished == 0


def test_news_that_nothing_overtakes_comes_in_the_end(provider: "Build") -> None:
    shop = provider(Rule(ReorderDeliveries(at_most_ms=5_000), "turned"))
    shop.listen()
    shop.charge()

    assert shop.news() == []
    shop.now = 5.0
    assert told(shop.news()) == [("evt_1", "charge.captured")]
    refund(shop, 100, "key-2")
    assert shop.news() == []  # this one waits in its turn


def test_a_neighbours_news_overtakes_nothing(provider: "Build") -> None:
    shop = provider(Rule(ReorderDeliveries(), "turned", order="ord-1"))
    shop.listen()
    shop.charge()
    shop.charge("ord-2", "key-2")

    assert told(shop.news()) == [("evt_2", "charge.captured")]


def test_old_news_comes_again_days_after_it_was_acknowledged(provider: "Build") -> None:
    shop = provider(Rule(RedeliverAfterDays(days=30), "old"))
    shop.listen()
    shop.charge()

    assert told(shop.news()) == [("evt_1", "charge.captured")]
    shop.now = 30 * DAY_S - 1
    assert shop.news() == []
    shop.now = 30 * DAY_S
    assert told(shop.news()) == [("evt_1", "charge.captured")]


@pytest.mark.parametrize("mode", ["sequential", "concurrent"])
def test_copies_under_new_ids_are_events_that_repeat_the_first(
    provider: "Build", mode: Any
) -> None:
    shop = provider(Rule(Redeliver(copies=3, mode=mode, new_id=True), "again"))
    shop.listen()
    shop.charge()

    first = shop.provider.attempts_due(shop.now)
    for attempt in first:
        shop.provider.attempt_finished(attempt, Answered(200), shop.now)
    later = shop.news()

    assert (len(first), len(later)) == ((3, 0) if mode == "concurrent" else (1, 2))

    assert [e.repeats for e in shop.provider.events.values()] == [None, "evt_1", "evt_1"]
    assert {e.charge_id for e in shop.provider.events.values()} == {"ch_1"}


def test_followers_wait_for_the_acknowledgement(provider: "Build") -> None:
    shop = provider(Rule(IdenticalBody(), "twin"))
    shop.listen()
    shop.charge()

    assert told(shop.news(503)) == [("evt_1", "charge.captured")]
    shop.provider.hasten(shop.now)
    first, twin = shop.news()

    assert (first.event.id, twin.event.id) == ("evt_1", "evt_2")
    messages = [shop.provider.message(each, 0.0) for each in (first, twin)]
    assert messages[0].body == messages[1].body
    assert messages[0].headers["webhook-id"] != messages[1].headers["webhook-id"]


def test_one_fact_goes_by_several_names(provider: "Build") -> None:
    shop = provider(Rule(AliasEvents("invoice.paid order.paid"), "alias"))
    shop.listen()
    shop.charge()

    assert told(shop.news()) == [
        ("evt_1", "charge.captured"),
        ("evt_2", "invoice.paid"),
        ("evt_3", "order.paid"),
    ]


def test_a_failure_comes_late_and_shows_a_declined_charge(provider: "Build") -> None:
    shop = provider(Rule(LateFailureAfterSuccess(), "late"))
    shop.listen()
    shop.charge()

    good, bad = shop.news()

    assert told([good, bad]) == [("evt_1", "charge.captured"), ("evt_2", "charge.declined")]
    shown = body(shop, bad)["data"]["charge"]
    assert (shown["id"], shown["status"], shown["captured_minor"]) == ("ch_1", "declined", 0)
    assert shop.captured() == ["ch_1"]


@pytest.mark.parametrize("status", [200, 503])
def test_a_success_comes_after_a_failure_whatever_that_was_answered(
    provider: "Build", status: int
) -> None:
    shop = provider(Rule(SuccessAfterFailure(), "first"))
    shop.listen()
    shop.charge()

    assert told(shop.news(status))[:2] == [
        ("evt_2", "charge.declined"),
        ("evt_1", "charge.captured"),
    ]


@pytest.mark.parametrize("kind", [LateFailureAfterSuccess, SuccessAfterFailure])
def test_news_of_a_failure_contradicts_nothing(provider: "Build", kind: Any) -> None:
    shop = provider(Rule(Decline(), "no"), Rule(kind(), "twist"))
    shop.listen()
    shop.charge()

    assert told(shop.news()) == [("evt_1", "charge.declined")]


def test_a_stale_snapshot_shows_what_was_before(provider: "Build") -> None:
    shop = provider(Rule(StaleSnapshot(), "stale"))
    shop.listen()
    shop.charge()
    refund(shop, 200, "key-2")
    refund(shop, 300, "key-3")

    shown = [body(shop, each)["data"]["charge"] for each in shop.news()]

    assert [(c["status"], c["captured_minor"], c["refunded_minor"]) for c in shown] == [
        ("pending", 0, 0),
        ("captured", 500, 0),
        ("captured", 500, 200),
    ]


def test_two_accounts_events_have_one_id(provider: "Build") -> None:
    shop = provider(Rule(ForeignAccount(), "same"))
    shop.listen()
    shop.charge()
    shop.charge("ord-2", "key-1", "neighbour")
    shop.charge("ord-3", "key-3")

    seen = [(each.event.id, each.event.account) for each in shop.news()]

    assert seen == [("evt_1", "shop"), ("evt_1", "neighbour"), ("evt_2", "shop")]


def test_two_orders_events_have_one_id_where_there_is_one_account(provider: "Build") -> None:
    shop = provider(Rule(ForeignAccount("order"), "same"))
    shop.listen()
    shop.charge()
    refund(shop, 200, "key-r")
    shop.charge("ord-2", "key-2")
    shop.charge("ord-3", "key-3", "neighbour")

    seen = [(each.event.id, each.event.order) for each in shop.news()]

    assert seen == [
        ("evt_1", "ord-1"),
        ("evt_2", "ord-1"),
        ("evt_2", "ord-2"),
        ("evt_3", "ord-3"),
    ]
    assert shop.provider.plan.fired == {"same": 2}


@pytest.mark.parametrize("whose", ["account", "order"])
def test_an_id_that_nobody_was_told_is_nobodys(provider: "Build", whose: Any) -> None:
    shop = provider(Rule(ForeignAccount(whose), "same"))
    shop.listen(account="shop")
    shop.charge("ord-0", "key-0", "neighbour")
    shop.charge()

    assert [each.event.id for each in shop.news()] == ["evt_2"]
    assert shop.provider.plan.fired == {"same": 0}


def test_what_is_not_signed_is_otherwise_whole(provider: "Build") -> None:
    shop = provider(Rule(MissingSignature(), "bare"))
    shop.listen()
    shop.charge()
    [attempt] = shop.news()

    message = shop.provider.message(attempt, 0.0)

    assert message.headers.keys() == {"content-type", "webhook-id", "webhook-timestamp"}


def test_a_foreign_signature_without_a_foreigner_is_nobodys(provider: "Build") -> None:
    shop = provider(Rule(ForeignSignature(), "foreign"))
    shop.listen()
    shop.charge()

    [attempt] = shop.news()

    assert attempt.secret == shop.provider.dialect.foreign_secret


def test_an_oversized_event_comes_in_its_usual_size_next(provider: "Build") -> None:
    shop = provider(Rule(OversizedEvent(padding_bytes=10_000), "big"))
    shop.listen()
    shop.charge()
    big = shop.news(413)
    shop.provider.hasten(shop.now)

    sizes = [len(shop.provider.message(each, 0.0).body) for each in (*big, *shop.news())]

    assert sizes[0] > 10_000 > sizes[1]


def test_a_dropped_delivery_is_known_to_be_withheld(provider: "Build") -> None:
    shop = provider(Rule(DropDelivery(), "lost"))
    shop.listen()
    shop.charge()

    assert shop.news() == []
    [delivery] = shop.provider.deliveries.by_id.values()
    assert delivery.withheld


def test_what_can_not_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match="types must name at least one"):
        AliasEvents(" ")
    for kind in (GarbageReply, WrongContentType):
        with pytest.raises(ValueError, match="content_type must be printable"):
            kind(content_type="a\nb")
