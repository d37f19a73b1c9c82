"""By which events a dialect tells what the bank did: as it really does, and as a forger would."""

import pytest

from simulator.catalogue import dialects
from simulator.core.charges import Charge, Status
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.guises import in_status
from simulator.core.rules import Rule
from simulator.faults.decline import Decline
from tests.conformance.conftest import SHOP, Open

FACTS = {
    "charge.captured": Status.CAPTURED,
    "charge.declined": Status.DECLINED,
    "charge.refunded": Status.REFUNDED,
}


@pytest.mark.parametrize("dialect", dialects())
@pytest.mark.parametrize(
    "fact, rules",
    [("charge.captured", []), ("charge.declined", [Rule(Decline(), "no")])],
)
def test_what_the_bank_did_is_told_by_these_events(
    shop_at: Open, dialect: str, fact: str, rules: list[Rule]
) -> None:
    shop = shop_at(dialect, *rules)

    _, told = shop.live(shop.charge("ord-1"))

    names = shop.provider.dialect.told_as(fact)
    assert tuple(attempt.event.type for attempt in told)[-len(names) :] == names


@pytest.mark.parametrize("dialect", dialects())
@pytest.mark.parametrize("fact", FACTS)
def test_a_forger_tells_it_by_the_same_events(shop_at: Open, dialect: str, fact: str) -> None:
    provider = shop_at(dialect).provider
    never_was = Charge("ch_never", SHOP, 500, "EUR", "ord-9", "cus-1")

    for number, type_ in enumerate(provider.dialect.told_as(fact)):
        charge = in_status(never_was, FACTS[fact])
        event = Event(f"evt_forged_{number}", type_, charge, None, 0.0, None)
        [attempt] = provider.forge(event, Tamper("wrong"), 0.0)

        assert type_.encode() in provider.message(attempt, 1_800_000_000.0).body
