"""Invoices: the provider's billing asks for orders to be charged, and tells nobody else of it."""

import json
from typing import TYPE_CHECKING

import pytest

from simulator.core.invoices import INVOICE_DUE, Invoice
from simulator.core.rules import Rule
from simulator.dialects.stripe import Stripe
from simulator.faults.oversized_event import OversizedEvent
from simulator.faults.redeliver import Redeliver

if TYPE_CHECKING:
    from .conftest import Build

INVOICE = Invoice("in_1", "shop", "ord-1", 500, "EUR", "cus-1")


def test_an_invoice_that_is_due_is_told_and_moves_no_money(provider: "Build") -> None:
    shop = provider()
    shop.listen()

    event = shop.provider.bill(INVOICE, shop.now)
    [attempt] = shop.news()

    assert (event.type, event.order, event.charge) == (INVOICE_DUE, "ord-1", None)
    body = json.loads(shop.provider.message(attempt, 0).body)
    assert (body["type"], body["data"]["invoice"]["order"]) == (INVOICE_DUE, "ord-1")
    assert body["data"]["invoice"]["amount_minor"] == 500
    assert shop.captured() == []


def test_faults_bend_the_news_of_an_invoice_as_any_other(provider: "Build") -> None:
    shop = provider(
        Rule(Redeliver(3, "concurrent"), "again", f"delivery.{INVOICE_DUE}"),
        Rule(OversizedEvent(padding_bytes=9_999), "much", f"delivery.{INVOICE_DUE}"),
    )
    shop.listen()

    shop.provider.bill(INVOICE, shop.now)
    attempts = shop.news()

    assert len(attempts) == 3
    assert len(shop.provider.message(attempts[0], 0).body) > 9_999


def test_a_lie_about_an_invoice_is_none(provider: "Build") -> None:
    shop = provider(Rule(Redeliver(2, new_id=True), "anew"))
    shop.listen()

    shop.provider.bill(INVOICE, shop.now)

    assert [attempt.event.thing for attempt in shop.news()] == [INVOICE, INVOICE]


def test_a_provider_that_does_not_bill_has_no_invoices() -> None:
    assert not Stripe().bills


@pytest.mark.parametrize("shown", ["list", "read"])
def test_an_invoice_can_be_found_among_the_events(provider: "Build", shown: str) -> None:
    shop = provider()
    event = shop.provider.bill(INVOICE, shop.now)

    path = "/v1/events" if shown == "list" else f"/v1/events/{event.id}"
    data = shop.data(shop.send("GET", path))

    found = data["data"][0] if shown == "list" else data
    assert found["data"]["invoice"]["id"] == "in_1"
