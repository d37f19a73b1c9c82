"""What the dialect would ask is what it reads: the neutral calls, in the words of this API."""

from typing import Any

import pytest

from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    EventParams,
    ListCharges,
    ListEvents,
    Operation,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
)
from simulator.core.desk_calls import (
    CancelIntent,
    CaptureIntent,
    CreateAndConfirmIntent,
    ListFacts,
    ListIntentCharges,
    ReadFact,
    ReadIntent,
    ReadIntentCharge,
    RefundIntentCharge,
)
from simulator.dialects.stripe import Stripe

SHOP = "sk_test_shop"
WISH = CreateCharge(500, "EUR", "ord-1", "cus-1", metadata={"a": "b"})


def asked(params: ChargeParams | EventParams, key: str | None = None) -> Operation:
    request = Stripe().ask(params, SHOP, key)
    assert request is not None
    read = Stripe().read(request)
    assert isinstance(read, Operation), read
    return read


@pytest.mark.parametrize(
    "params, call",
    [
        (CaptureCharge("pi_1"), CaptureIntent(intent="pi_1")),
        (CaptureCharge("pi_1", 100), CaptureIntent(intent="pi_1", amount_minor=100)),
        (CancelCharge("pi_1"), CancelIntent(intent="pi_1")),
        (RefundCharge("pi_1"), RefundIntentCharge(intent="pi_1")),
        (RefundCharge("ch_1", 100), RefundIntentCharge(charge="ch_1", amount_minor=100)),
        (ReadCharge("pi_1"), ReadIntent(intent="pi_1")),
        (ReadCharge("ch_1"), ReadIntentCharge(id="ch_1")),
        (ReadEvent("evt_1"), ReadFact(id="evt_1")),
    ],
    ids=str,
)
@pytest.mark.parametrize("key", ["key-1", None])
def test_what_is_written_is_read_as_the_same(
    params: ChargeParams | EventParams, call: object, key: str | None
) -> None:
    read = asked(params, key)

    assert read.params == call
    assert read.params.operation == params.operation
    assert (read.account, read.key) == (SHOP, key)


@pytest.mark.parametrize("capture", [True, False])
def test_a_charge_is_an_intent_that_is_confirmed_at_once(*, capture: bool) -> None:
    params = CreateCharge(500, "EUR", "ord-1", "cus-1", capture, {"a": "b"})

    made = asked(params).params

    assert isinstance(made, CreateAndConfirmIntent)
    assert (made.amount_minor, made.currency, made.reference) == (500, "EUR", "ord-1")
    assert (made.capture, made.customer) == (capture, None)
    assert made.metadata == {"order_id": "ord-1", "a": "b", "customer": "cus-1"}


def test_a_customer_of_this_provider_is_named_as_one() -> None:
    made = asked(CreateCharge(500, "EUR", customer="cus_7")).params

    assert isinstance(made, CreateAndConfirmIntent)
    assert (made.customer, made.reference, dict(made.metadata)) == ("cus_7", None, {})


@pytest.mark.parametrize("reference", [None, "ord-1"])
def test_no_list_of_charges_can_be_asked_by_order(reference: str | None) -> None:
    read = asked(ListCharges(reference)).params

    assert isinstance(read, ListIntentCharges)
    assert read.wanted == {}


@pytest.mark.parametrize(
    "delivered, wanted",
    [
        (None, {}),
        (True, {"delivered": frozenset({True})}),
        (False, {"delivered": frozenset({False})}),
    ],
)
def test_events_are_asked_for_by_whether_they_were_delivered(
    delivered: Any, wanted: dict[str, Any]
) -> None:
    read = asked(ListEvents(delivered)).params

    assert isinstance(read, ListFacts)
    assert read.wanted == wanted


def test_nobody_can_be_asked_to_deliver_an_event_again() -> None:
    assert Stripe().ask(ResendEvent("evt_1"), SHOP) is None


def test_what_was_asked_is_done(merchant: Any) -> None:
    """A charge that is asked for is one at the bank, whatever it was written as."""
    request = Stripe().ask(WISH, SHOP, "key-1")
    assert request is not None

    for _ in range(2):
        merchant.provider.receive(request, 0.0)

    [charge] = merchant.provider.charges.values()
    assert (charge.reference, charge.captured_minor) == ("ord-1", 500)
