"""Lookups that fail, lag and lie, and what stays true behind them."""

from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.messages import Held
from simulator.core.rules import Rule
from simulator.faults.deliver_before_commit_is_visible import DeliverBeforeCommitIsVisible
from simulator.faults.lookup_fails import LookupFails
from simulator.faults.lookup_lags import LookupLags
from simulator.faults.lookup_lies import LookupLies

if TYPE_CHECKING:
    from simulator.core.faults import Fault

    from .conftest import Build, Shop


def paid(provider: "Build", fault: "Fault") -> "Shop":
    """Return a shop that charges at 0 s and refunds a part at 10 s, and a fault from then on."""
    shop = provider()
    shop.charge()
    shop.now = 10.0
    shop.send("POST", "/v1/charges/ch_1/refunds", {"amount_minor": 200}, key="key-2")
    shop.provider.arm([Rule(fault, "it")], shop.now)
    return shop


def read(shop: "Shop") -> Any:
    answer = shop.send("GET", "/v1/charges/ch_1")
    return shop.data(answer) if shop.status(answer) == 200 else shop.status(answer)


def listed(shop: "Shop") -> Any:
    return shop.data(shop.send("GET", "/v1/charges", query=(("reference", "ord-1"),)))["data"]


def test_a_lookup_shows_the_past(provider: "Build") -> None:
    shop = paid(provider, LookupLags(lag_ms=5_000))

    seen = []
    for shop.now in (12.0, 14.9, 15.0):
        assert [read(shop)] == listed(shop)
        seen.append(read(shop)["refunded_minor"])

    assert seen == [0, 0, 200]


def test_what_is_younger_than_the_lag_is_not_found(provider: "Build") -> None:
    shop = paid(provider, LookupLags(lag_ms=20_000))

    assert (read(shop), listed(shop)) == (404, [])
    shop.now = 20.0
    assert read(shop)["refunded_minor"] == 0


@pytest.mark.parametrize(
    "lie, status, captured_minor, code",
    [
        ("declined", "declined", 0, "do_not_honor"),
        ("cancelled", "cancelled", 0, None),
        ("captured", "captured", 500, None),
    ],
)
def test_a_lie_is_told_in_full(
    provider: "Build", lie: Any, status: str, captured_minor: int, code: str | None
) -> None:
    shop = paid(provider, LookupLies(lie))

    seen = read(shop)

    assert [seen] == listed(shop)
    assert (seen["status"], seen["captured_minor"], seen["decline_code"]) == (
        status,
        captured_minor,
        code,
    )
    assert shop.provider.charges["ch_1"].refunded_minor == 200


def test_a_charge_can_be_denied(provider: "Build") -> None:
    shop = paid(provider, LookupLies("absent"))

    assert (read(shop), listed(shop)) == (404, [])
    assert shop.captured() == ["ch_1"]


def test_a_lookup_that_is_not_found_anyway_is_not_made_better(provider: "Build") -> None:
    shop = paid(provider, LookupLies("captured"))

    assert shop.status(shop.send("GET", "/v1/charges/ch_9")) == 404


def test_a_lookup_fails_with_any_error_and_other_calls_do_not(provider: "Build") -> None:
    shop = paid(provider, LookupFails(status=502, code="bad_gateway"))

    assert read(shop) == 502
    assert shop.status(shop.charge("ord-2", "key-3")) == 201
    assert shop.status(shop.send("GET", "/v1/events")) == 200


def test_the_news_arrives_while_nobody_can_look_it_up(provider: "Build") -> None:
    shop = provider(Rule(DeliverBeforeCommitIsVisible(invisible_ms=1_000), "it"))
    shop.listen()

    held = shop.charge()
    [told] = shop.news()

    assert isinstance(held, Held)
    assert held.until.condition == "delivered"
    assert (told.event.charge_id, read(shop)) == ("ch_1", 404)
    assert shop.status(shop.resume(held)) == 201
    shop.now = 1.0
    assert read(shop)["status"] == "captured"
