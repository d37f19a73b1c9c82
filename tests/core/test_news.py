"""Events and deliveries: at least once, unordered, on the schedule of virtual time."""

from typing import TYPE_CHECKING

import pytest

from simulator.core.deliveries import Answered, NoAnswer
from simulator.core.rules import Rule
from simulator.faults.deliver_before_reply import DeliverBeforeReply
from simulator.faults.drop_delivery import DropDelivery
from simulator.faults.redeliver import Redeliver
from simulator.faults.wrong_signature import WrongSignature

if TYPE_CHECKING:
    from .conftest import Build


def test_an_event_is_born_with_its_effect_and_due_at_once(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()

    assert shop.provider.next_wakeup() == 0
    [attempt] = shop.provider.attempts_due(0)

    assert (attempt.number, attempt.copy, attempt.order, attempt.account) == (1, 1, "ord-1", "shop")
    assert shop.provider.next_wakeup() is None
    born = shop.journal.entries.index(shop.entries("event.created")[0])
    sent = shop.journal.entries[-1]
    assert (sent.lane, sent.kind, sent.cause) == ("webhook", "send", born)
    assert sent.value == {
        "what": "attempt",
        "attempt": "att-1",
        "delivery": "dlv-1",
        "number": 1,
        "event": "evt_1",
        "type": "charge.captured",
        "charge": "ch_1",
        "url": "http://shop.test/hook",
        "forged": False,
        "copy": 1,
    }


def test_the_news_can_arrive_before_the_answer(provider: "Build") -> None:
    shop = provider(Rule(DeliverBeforeReply(), "early"))
    shop.listen()

    held = shop.charge()
    told = shop.news()
    answered = shop.resume(held, "delivered")

    assert [attempt.event.type for attempt in told] == ["charge.captured"]
    assert shop.status(answered) == 201
    story = shop.story()
    assert story.index("webhook ok attempt") < story.index("provider send reply")


def test_an_attempt_becomes_a_message_signed_for_its_endpoint(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    [attempt] = shop.provider.attempts_due(0)

    message = shop.provider.message(attempt, wall_s=1_700_000_000.5)

    assert (message.method, message.path) == ("POST", "http://shop.test/hook")
    assert message.headers["webhook-id"] == "evt_1"
    assert message.headers["webhook-timestamp"] == "1700000000"


def test_an_acknowledged_event_is_never_told_again(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()

    assert len(shop.news()) == 1
    assert shop.provider.next_wakeup() is None
    assert repr(shop.provider.deliveries.by_id["dlv-1"]) == "<Delivery dlv-1 evt_1 acknowledged>"
    assert shop.journal.entries[-1].value == {
        "what": "attempt",
        "attempt": "att-1",
        "event": "evt_1",
        "status": 204,
    }


def test_what_is_not_acknowledged_comes_again_on_the_schedule(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    waits, numbers = [], []

    while (wakeup := shop.provider.next_wakeup()) is not None:
        waits.append(wakeup - shop.now)
        shop.now = wakeup
        numbers += [attempt.number for attempt in shop.news(500)]

    assert tuple(waits) == shop.provider.dialect.schedule_s
    assert numbers == list(range(1, 11))
    assert shop.provider.deliveries.unfinished == 0
    assert repr(shop.provider.deliveries.by_id["dlv-1"]) == "<Delivery dlv-1 evt_1 10 attempts>"


def test_no_answer_leaves_unknown_whether_it_was_read(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    [attempt] = shop.provider.attempts_due(0)

    shop.provider.attempt_finished(attempt, NoAnswer("timed out"), 0)

    last = shop.journal.entries[-1]
    assert (last.kind, last.value["error"], last.cause) == ("unknown", "timed out", attempt.cause)
    assert shop.provider.next_wakeup() == 5


def test_an_outcome_told_twice_counts_once(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    [attempt] = shop.news()
    before = len(shop.journal.entries)

    shop.provider.attempt_finished(attempt, Answered(500), 0)

    assert len(shop.journal.entries) == before
    assert shop.provider.next_wakeup() is None


def test_attempts_are_due_when_their_time_has_come(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    shop.news(500)

    assert shop.provider.attempts_due(4.9) == []
    assert len(shop.provider.attempts_due(5)) == 1


def test_waiting_attempts_can_be_hastened_without_moving_time(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge("ord-1", "k1")
    shop.news(500)
    shop.now = 1
    shop.charge("ord-2", "k2")
    deliveries = shop.provider.deliveries
    assert deliveries.under_way(1) == 1

    shop.provider.hasten(1)

    assert deliveries.under_way(1) == 2
    assert sorted(attempt.order or "" for attempt in shop.provider.attempts_due(1)) == [
        "ord-1",
        "ord-2",
    ]


def test_only_the_attempts_that_tell_of_some_orders_can_be_hastened_and_counted(
    provider: "Build",
) -> None:
    shop = provider()
    shop.listen()
    shop.charge("ord-1", "k1")
    shop.charge("ord-2", "k2")
    shop.news(500)

    shop.provider.hasten(1, {"ord-2"})

    assert [attempt.order for attempt in shop.provider.attempts_due(1)] == ["ord-2"]
    assert shop.provider.unfinished_of({"ord-1"}) == 1
    assert shop.provider.unfinished_of({"ord-1", "ord-2"}) == shop.provider.unfinished == 2


def test_every_endpoint_is_told_and_only_of_its_own_account(provider: "Build") -> None:
    shop = provider()
    shop.listen("http://a.test/", account="shop")
    shop.listen("http://b.test/")
    shop.listen("http://c.test/", account="other")

    shop.charge()

    assert [attempt.url for attempt in shop.news()] == ["http://a.test/", "http://b.test/"]


def test_an_endpoint_added_again_is_told_once(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.listen()
    shop.charge()

    assert len(shop.news()) == 1


def test_an_endpoint_that_left_is_told_nothing_more(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge("ord-1", "k1")
    shop.charge("ord-2", "k2")
    first, _ = shop.provider.attempts_due(0)
    shop.charge("ord-3", "k3")

    shop.provider.remove_endpoint("http://shop.test/hook")
    shop.provider.attempt_finished(first, Answered(500), 0)

    assert shop.provider.next_wakeup() is None
    shop.charge("ord-4", "k4")
    assert shop.news() == []


def test_a_secret_must_be_one(provider: "Build") -> None:
    shop = provider()

    with pytest.raises(ValueError, match="not a webhook secret"):
        shop.provider.add_endpoint("http://shop.test/", "whsec_é")


def test_copies_follow_one_after_the_others_acknowledgement(provider: "Build") -> None:
    shop = provider(Rule(Redeliver(3), "thrice"))
    shop.listen()
    shop.charge()

    [first] = shop.provider.attempts_due(0)
    assert shop.provider.attempts_due(0) == []
    shop.provider.attempt_finished(first, Answered(200), 0)
    rest = shop.news()

    assert [(a.number, a.copy) for a in (first, *rest)] == [(1, 1), (2, 2), (3, 3)]
    assert {a.event.id for a in (first, *rest)} == {"evt_1"}
    assert shop.provider.plan.fired == {"thrice": 1}


def test_copies_can_come_all_at_once_and_are_retried_each(provider: "Build") -> None:
    shop = provider(Rule(Redeliver(2, "concurrent"), "twice"))
    shop.listen()
    shop.charge()

    first, second = shop.provider.attempts_due(0)
    shop.provider.attempt_finished(first, Answered(200), 0)
    shop.provider.attempt_finished(second, Answered(500), 0)
    shop.now = 5
    [third] = shop.news()

    assert [(a.number, a.copy) for a in (first, second, third)] == [(1, 1), (2, 2), (3, 2)]


def test_a_fault_of_a_delivery_is_written_down_after_the_attempt_it_bends(
    provider: "Build",
) -> None:
    shop = provider(Rule(WrongSignature(), "forge", operation="delivery.charge.captured"))
    shop.listen()
    shop.charge()

    [attempt] = shop.provider.attempts_due(0)

    fired = shop.journal.entries[-1]
    assert fired.value == {
        "what": "fired",
        "rule": "forge",
        "fault": "wrong_signature",
        "seam": "on_delivery",
        "attempt": attempt.id,
    }
    assert (fired.order, fired.cause) == ("ord-1", attempt.cause)
    assert attempt.secret == shop.provider.dialect.foreign_secret


def test_a_withheld_event_is_never_told_but_can_be_sent_again(provider: "Build") -> None:
    shop = provider(Rule(DropDelivery(), "drop", times=1))
    shop.listen()
    shop.charge()

    assert shop.news() == []
    assert shop.provider.next_wakeup() is None
    fired = shop.journal.entries[-1]
    assert fired.value["delivery"] == "dlv-1"
    assert fired.cause == shop.provider.events["evt_1"].cause

    [delivery] = shop.provider.resend("evt_1", 0)
    assert (delivery.id, [a.event.id for a in shop.news()]) == ("dlv-2", ["evt_1"])


def test_a_resend_is_another_delivery_of_the_same_event(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    shop.news()

    shown = shop.send("POST", "/v1/events/evt_1/resend")

    assert (shop.status(shown), shop.data(shown)["delivered"]) == (202, True)
    assert [(a.event.id, a.delivery, a.number) for a in shop.news()] == [("evt_1", "dlv-2", 1)]
    with pytest.raises(KeyError):
        shop.provider.resend("evt_9", 0)


def test_events_can_be_asked_for(provider: "Build") -> None:
    shop = provider()
    shop.listen()
    shop.charge("ord-1", "k1")
    shop.news()
    shop.charge("ord-2", "k2")
    shop.news(500)

    def listed(*query: tuple[str, str]) -> list[str]:
        return [e["id"] for e in shop.data(shop.send("GET", "/v1/events", query=query))["data"]]

    assert listed() == ["evt_1", "evt_2"]
    assert listed(("delivered", "false")) == ["evt_2"]
    assert listed(("delivered", "true")) == ["evt_1"]
    assert shop.data(shop.send("GET", "/v1/events/evt_2"))["data"]["charge"]["id"] == "ch_2"
    assert shop.journal.entries[-1].order == "ord-2"


@pytest.mark.parametrize("method,verb", [("GET", ""), ("POST", "/resend")])
@pytest.mark.parametrize("event,account", [("evt_1", "thief"), ("evt_9", "shop")])
def test_a_foreign_event_is_an_absent_event(
    provider: "Build", method: str, verb: str, event: str, account: str
) -> None:
    shop = provider()
    shop.charge()

    assert shop.status(shop.send(method, f"/v1/events/{event}{verb}", account=account)) == 404


def test_an_event_without_an_endpoint_is_not_delivered(provider: "Build") -> None:
    shop = provider()
    shop.charge()

    assert not shop.data(shop.send("GET", "/v1/events/evt_1"))["delivered"]


def test_an_event_keeps_the_charge_as_it_was(provider: "Build") -> None:
    shop = provider()
    shop.charge()
    shop.send("POST", "/v1/charges/ch_1/refunds", key="r")

    captured, refunded = shop.provider.events.values()

    assert captured.charge is not None
    assert refunded.charge is not None
    assert (captured.charge.refunded_minor, refunded.charge.refunded_minor) == (0, 500)
    assert repr(refunded) == "<Event evt_2 charge.refunded ch_1>"


def test_an_event_that_another_endpoint_is_to_hear_of_is_undelivered_again(
    provider: "Build",
) -> None:
    shop = provider()
    shop.listen()
    shop.charge()
    shop.news()

    def undelivered() -> list[str]:
        shown = shop.send("GET", "/v1/events", query=(("delivered", "false"),))
        return [each["id"] for each in shop.data(shown)["data"]]

    assert undelivered() == []
    shop.provider.add_endpoint("http://shop.test/second", "whsec_c2Vjb25k")
    shop.send("POST", "/v1/events/evt_1/resend", {})

    assert undelivered() == ["evt_1"]
