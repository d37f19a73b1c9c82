"""A bank that takes its time: charges stay pending, and are settled when virtual time says so."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.bank import Bank
from simulator.core.calls import Call, CreateCharge, Decision
from simulator.core.faults import Fault, StayPending
from simulator.core.rules import Rule
from simulator.faults.decline import Decline
from simulator.faults.hold import Hold

if TYPE_CHECKING:
    from .conftest import Build, Shop


@dataclass(frozen=True, slots=True)
class Ponder(Fault):
    for_s: float = 60.0
    decline: str | None = None

    def before_commit(self, call: Call) -> StayPending:  # noqa: ARG002  # as a fault
        return StayPending(self.for_s, self.decline)


def facts(shop: "Shop") -> list[str]:
    return [event.type for event in shop.provider.events.values()]


def shown(shop: "Shop") -> str:
    status: str = shop.data(shop.send("GET", "/v1/charges/ch_1"))["status"]
    return status


def test_a_pending_charge_moves_no_money_until_it_settles(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder"))

    made = shop.charge()

    assert (shop.status(made), shop.data(made)["status"]) == (201, "pending")
    assert shop.captured() == []
    shop.now = 59.9
    assert shown(shop) == "pending"
    shop.now = 60.0
    assert shown(shop) == "captured"
    assert shop.captured() == ["ch_1"]


def test_whoever_reads_first_reads_it_settled(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder"))
    shop.charge()
    shop.now = 1_000.0

    shop.provider.settle_due(shop.now)

    assert shop.captured() == ["ch_1"]
    assert shop.provider.next_wakeup() is None


def test_it_settles_in_the_name_of_the_call_that_made_it(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder"))
    shop.listen()
    shop.charge()
    shop.now = 60.0
    shop.news()

    pending, captured = shop.entries("charge.pending")[0], shop.entries("charge.captured")[0]
    assert captured.value == {**pending.value, "what": "charge.captured"}
    assert captured.value["key_honoured"] is True
    assert (captured.order, captured.tenant, captured.key, captured.cause) == (
        "ord-1",
        "shop",
        "key-1",
        0,
    )
    types = [event.type for event in shop.provider.events.values()]
    assert types == ["charge.pending", "charge.captured"]


def test_the_machine_wakes_up_for_it(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder"))
    shop.listen()
    shop.charge()
    assert shop.provider.next_wakeup() == 0  # the news that it is pending
    shop.news()

    assert shop.provider.next_wakeup() == 60
    assert shop.provider.unfinished == 1
    shop.now = 60.0
    assert [attempt.event.type for attempt in shop.news()] == ["charge.captured"]
    assert (shop.provider.next_wakeup(), shop.provider.unfinished) == (None, 0)


def test_what_is_hastened_is_settled_in_order(provider: "Build") -> None:
    shop = provider(Rule(Ponder(90), "long", nth=1), Rule(Ponder(30), "short", nth=2))
    shop.charge("ord-1", "key-1")
    shop.charge("ord-2", "key-2")

    shop.provider.hasten(shop.now)
    shop.news()

    assert shop.captured() == ["ch_2", "ch_1"]


def test_a_held_call_goes_on_into_a_settled_world(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder", nth=1), Rule(Hold("before_commit"), "hold", nth=2))
    shop.charge()
    refund = shop.send("POST", "/v1/charges/ch_1/refunds", key="key-2")
    shop.now = 60.0

    assert shop.status(shop.resume(refund)) == 201


@pytest.mark.parametrize(
    "wish,rules,status",
    [
        ({}, [Rule(Ponder(), "ponder")], "captured"),
        ({"capture": False}, [Rule(Ponder(), "ponder")], "authorised"),
        ({}, [Rule(Ponder(decline="lost_card"), "ponder")], "declined"),
        ({}, [Rule(Decline(), "no"), Rule(Ponder(), "ponder")], "declined"),
        ({}, [Rule(Ponder(), "ponder"), Rule(Decline(), "no")], "declined"),
    ],
)
def test_the_bank_decides_in_any_way(
    provider: "Build", wish: dict[str, Any], rules: list[Rule], status: str
) -> None:
    shop = provider(*rules)
    assert shop.data(shop.charge(**wish))["status"] == "pending"
    shop.now = 60.0

    assert shown(shop) == status
    assert facts(shop) == ["charge.pending", f"charge.{status}"]


def test_a_pending_charge_can_be_cancelled_and_then_never_settles(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder", operation="charge.create"))
    shop.charge()

    assert shop.status(shop.send("POST", "/v1/charges/ch_1/cancel", key="key-2")) == 200
    shop.now = 60.0

    assert shown(shop) == "cancelled"
    assert shop.captured() == []
    assert facts(shop) == ["charge.pending", "charge.cancelled"]


@pytest.mark.parametrize("verb", ["capture", "refunds"])
def test_what_is_pending_is_not_the_merchants_to_take(provider: "Build", verb: str) -> None:
    shop = provider(Rule(Ponder(), "ponder", operation="charge.create"))
    shop.charge(capture=False)

    assert shop.status(shop.send("POST", f"/v1/charges/ch_1/{verb}", key="key-2")) == 409
    assert shown(shop) == "pending"


def test_only_a_new_charge_can_stay_pending(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder", operation="charge.capture"))
    shop.charge(capture=False)

    captured = shop.send("POST", "/v1/charges/ch_1/capture", key="key-2")

    assert shop.data(captured)["status"] == "captured"


def test_a_replay_repeats_that_it_was_pending(provider: "Build") -> None:
    shop = provider(Rule(Ponder(), "ponder", nth=1))
    first = shop.reply(shop.charge())
    shop.now = 60.0

    again = shop.reply(shop.charge())

    assert again.body == first.body
    assert shown(shop) == "captured"


def test_a_test_token_decides_without_a_fault() -> None:
    declined = CreateCharge(500, "EUR", decision=Decision("expired_card"))

    _, change = Bank().execute(declined, "shop", 0, declined.decision)

    assert change is not None
    assert (change.fact, change.charge.decline_code) == ("charge.declined", "expired_card")


def test_only_the_decisions_on_some_orders_can_be_hastened_and_counted(provider: "Build") -> None:
    shop = provider(Rule(Ponder(90), "ponder"))
    shop.charge("ord-1", "key-1")
    shop.charge("ord-2", "key-2")

    shop.provider.hasten(shop.now, {"ord-2"})
    shop.news()

    assert shop.captured() == ["ch_2"]
    assert [shop.provider.unfinished_of({order}) for order in ("ord-1", "ord-2")] == [1, 0]
