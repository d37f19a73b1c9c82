"""What is not so, as this API tells it: forged events, lookups that lag and lie, stale news."""

import json
import time
from typing import Any

import pytest
import stripe

from simulator.catalogue import rule_from
from simulator.core.charges import Charge, Status
from simulator.core.desk_results import IntentRefund
from simulator.core.events import Event
from simulator.core.faults import Guise, Tamper
from simulator.core.guises import disguised, in_status
from simulator.core.rules import Rule

SECRET = "whsec_of_the_shop"
HOOK = "http://shop.test/hook"
WALL_S = 3_200_000_000.0


def forged(
    merchant: Any, type_: str, charge: Charge, tamper: Tamper | None = None
) -> tuple[Any, Any]:
    """Forge one event, and return what the endpoint is sent, as body and as headers."""
    event = Event("evt_forged", type_, charge, None, merchant.now, None)
    [attempt] = merchant.provider.forge(event, tamper or Tamper(), merchant.now)
    message = merchant.provider.message(attempt, time.time())  # the library looks at the time
    return json.loads(message.body), message


def unheard_of(status: Status) -> Charge:
    made_up = Charge("ch_9", "sk_test_shop", 700, "USD", "ord-9", "cus_9")
    return in_status(made_up, status)


# Events that are not true.


@pytest.mark.parametrize(
    "type_, status, shown",
    [
        ("payment_intent.succeeded", Status.CAPTURED, "succeeded"),
        ("payment_intent.payment_failed", Status.DECLINED, "requires_payment_method"),
        ("payment_intent.canceled", Status.CANCELLED, "canceled"),
        ("payment_intent.processing", Status.PENDING, "processing"),
    ],
)
def test_an_intent_that_never_was_is_told_of_as_if_it_were(
    merchant: Any, type_: str, status: Status, shown: str
) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)

    body, _ = forged(merchant, type_, unheard_of(status))

    told = body["data"]["object"]
    assert (body["id"], body["type"]) == ("evt_forged", type_)
    assert (told["object"], told["status"], told["latest_charge"]) == (
        "payment_intent",
        shown,
        "ch_9",
    )
    assert (told["amount"], told["currency"], told["customer"]) == (700, "usd", "cus_9")
    assert merchant.get(f"payment_intents/{told['id']}").status == 404
    assert merchant.captured() == []


def test_a_charge_that_never_was_is_told_of_as_if_it_were(merchant: Any) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)

    body, _ = forged(merchant, "charge.refunded", unheard_of(Status.CAPTURED))

    told = body["data"]["object"]
    assert (told["object"], told["id"], told["paid"]) == ("charge", "ch_9", True)
    assert merchant.get("charges/ch_9").status == 404
    assert "evt_forged" not in merchant.provider.events


@pytest.mark.parametrize("type_", ["payment_intent.canceled", "charge.expired"])
def test_a_lie_of_a_charge_that_there_is_tells_the_rest_as_it_is(merchant: Any, type_: str) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    intent = merchant.pay(metadata={"order_id": "ord-1", "note": "mine"}).data
    truth = merchant.provider.charges[intent["latest_charge"]]

    body, _ = forged(merchant, type_, in_status(truth, Status.CANCELLED))

    told = body["data"]["object"]
    of_intent = type_.startswith("payment_intent")
    assert told["id"] == (intent["id"] if of_intent else truth.id)
    assert told["metadata"] == {"order_id": "ord-1", "note": "mine"}
    assert told["status"] == ("canceled" if of_intent else "succeeded")
    assert merchant.get(f"payment_intents/{intent['id']}").data["status"] == "succeeded"
    assert merchant.captured() == [500]


@pytest.mark.parametrize(
    "tamper, sound",
    [
        (Tamper("right"), True),
        (Tamper("wrong"), False),
        (Tamper("foreign"), False),
        (Tamper("old", age_s=3_600), False),
        (Tamper("missing"), False),
    ],
    ids=lambda each: getattr(each, "signature", None),
)
def test_the_official_library_believes_a_forged_event_only_if_it_is_signed(
    merchant: Any, tamper: Tamper, *, sound: bool
) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    _, message = forged(merchant, "charge.succeeded", unheard_of(Status.CAPTURED), tamper)
    header = message.headers.get("stripe-signature", "")

    if sound:
        event = stripe.Webhook.construct_event(message.body, header, SECRET)
        assert event.type == "charge.succeeded"
    else:
        with pytest.raises(stripe.SignatureVerificationError):
            stripe.Webhook.construct_event(message.body, header, SECRET)


# Lookups that do not tell the truth.


def armed(merchant: Any, **table: object) -> None:
    merchant.provider.arm([rule_from(table)], merchant.now)


def test_a_lookup_that_lags_shows_what_was(merchant: Any) -> None:
    intent = merchant.hold()
    merchant.later(10)
    merchant.post(f"payment_intents/{intent['id']}/capture")
    armed(merchant, fault="lookup_lags", lag_ms=5_000)
    paths = (f"payment_intents/{intent['id']}", f"charges/{intent['latest_charge']}")

    early = [merchant.get(path).data for path in paths]
    merchant.later(5)
    late = [merchant.get(path).data for path in paths]

    assert [early[0]["status"], late[0]["status"]] == ["requires_capture", "succeeded"]
    assert [early[1]["captured"], late[1]["captured"]] == [False, True]


def test_what_is_younger_than_the_lag_is_neither_found_nor_listed(merchant: Any) -> None:
    intent = merchant.pay().data
    merchant.later(4)
    armed(merchant, fault="lookup_lags", lag_ms=5_000)

    missing = merchant.get(f"payment_intents/{intent['id']}")

    assert (missing.status, missing.error["code"]) == (404, "resource_missing")
    assert merchant.get("charges").data["data"] == []
    assert merchant.get("payment_intents").data["data"] == []
    merchant.later(1)
    assert [each["id"] for each in merchant.get("charges").data["data"]] == ["ch_1"]


@pytest.mark.parametrize(
    "lie, intent_status, charge_status, paid",
    [
        ("declined", "requires_payment_method", "failed", False),
        ("cancelled", "canceled", "succeeded", True),
    ],
)
def test_a_lie_is_the_same_of_an_intent_of_its_charge_and_of_what_is_expanded(
    merchant: Any, lie: str, intent_status: str, charge_status: str, *, paid: bool
) -> None:
    intent = merchant.pay().data
    armed(merchant, fault="lookup_lies", lie=lie)

    told = merchant.get(f"payment_intents/{intent['id']}", {"expand": ["latest_charge"]}).data
    [listed] = merchant.get("payment_intents", {"expand": ["data.latest_charge"]}).data["data"]
    charge = merchant.get(f"charges/{intent['latest_charge']}").data

    assert told["status"] == listed["status"] == intent_status
    assert told["latest_charge"] == listed["latest_charge"] == charge
    assert (charge["status"], charge["paid"]) == (charge_status, paid)
    assert (told["last_payment_error"] is not None) is (lie == "declined")
    merchant.provider.disarm()
    assert merchant.get(f"payment_intents/{intent['id']}").data["status"] == "succeeded"


def test_what_is_expanded_is_absent_where_the_lie_has_it_so(merchant: Any) -> None:
    """The customer is there, whatever is said of charges; and what nobody has is left an id."""
    customer = merchant.post("customers", {"email": "ada@shop.test"}).data["id"]
    made = merchant.post(
        "payment_intents", {"amount": 500, "currency": "usd", "customer": customer}
    ).data
    armed(merchant, fault="lookup_lies", lie="declined")

    told = merchant.get(
        f"payment_intents/{made['id']}", {"expand": ["customer", "latest_charge"]}
    ).data

    assert told["customer"]["email"] == "ada@shop.test"
    assert told["latest_charge"] is None


# News that is not as it should be.


def news(merchant: Any, rule: Rule, type_: str) -> Any:
    """Return the object of the first event of a type, as the endpoint is told of it."""
    merchant.provider.arm([rule], merchant.now)
    attempts = merchant.news()
    attempt = next(each for each in attempts if each.event.type == type_)
    return json.loads(merchant.provider.message(attempt, WALL_S).body)["data"]["object"]


@pytest.mark.parametrize(
    "type_, path, before",
    [
        ("payment_intent.succeeded", ("status",), "processing"),
        ("charge.succeeded", ("status",), "pending"),
        ("charge.refunded", ("amount_refunded",), 0),
        ("refund.created", ("amount",), 200),
        ("customer.created", ("email",), "ada@shop.test"),
    ],
)
def test_a_stale_snapshot_shows_what_was_before_what_it_tells_of(
    merchant: Any, type_: str, path: tuple[str, ...], before: object
) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    merchant.post("customers", {"email": "ada@shop.test"})
    intent = merchant.pay().data
    merchant.post("refunds", {"payment_intent": intent["id"], "amount": 200})

    told = news(merchant, rule_from({"fault": "stale_snapshot"}), type_)

    for step in path:
        told = told[step]
    assert told == before


@pytest.mark.parametrize(
    "type_",
    [
        "payment_intent.succeeded",
        "charge.succeeded",
        "refund.created",
        "customer.created",
        "payment_method.attached",
    ],
)
def test_whatever_news_is_of_can_be_oversized(merchant: Any, type_: str) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    customer = merchant.post("customers", {"payment_method": "pm_card_visa"}).data
    assert customer["id"]
    intent = merchant.pay().data
    merchant.post("refunds", {"payment_intent": intent["id"]})

    rule = rule_from({"fault": "oversized_event", "padding_bytes": 5_000})
    told = news(merchant, rule, type_)

    assert told["metadata"]["padding"] == "x" * 5_000


@pytest.mark.parametrize(
    "guise, type_",
    [
        (
            Guise(type="charge.declined", status=Status.DECLINED),
            "payment_intent.payment_failed",
        ),
        (Guise(type="invoice.paid"), "invoice.paid"),
        (Guise(status=Status.DECLINED), "payment_intent.succeeded"),
    ],
    ids=str,
)
def test_a_disguise_changes_no_event(merchant: Any, guise: Guise, type_: str) -> None:
    merchant.pay()
    event = next(
        e for e in merchant.provider.events.values() if e.type == "payment_intent.succeeded"
    )

    seen = disguised(event, guise, 0.0, merchant.provider.dialect.event_type)

    assert seen.type == type_
    assert event.type == "payment_intent.succeeded"
    assert event.charge is not None
    assert event.charge.status is Status.CAPTURED


def bad_news(merchant: Any) -> list[tuple[str, str]]:
    """Return what a late failure makes of all news: the type told, and of what it tells."""
    merchant.provider.arm([rule_from({"fault": "late_failure_after_success"})], merchant.now)
    told = merchant.news() + merchant.news()
    return [(each.event.type, each.event.about.id) for each in told if each.event.repeats]


def test_a_late_failure_is_told_of_an_intent_and_of_its_charge_in_their_own_words(
    merchant: Any,
) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    intent = merchant.pay().data

    assert bad_news(merchant) == [
        ("payment_intent.payment_failed", intent["id"]),
        ("charge.failed", intent["latest_charge"]),
    ]


def test_only_the_news_of_a_success_is_followed_by_a_failure(merchant: Any) -> None:
    intent = merchant.pay().data
    merchant.provider.add_endpoint(HOOK, SECRET)
    merchant.post("refunds", {"payment_intent": intent["id"], "amount": 200})

    assert bad_news(merchant) == []


def test_what_money_has_nothing_to_do_with_looks_the_same_in_any_status(merchant: Any) -> None:
    merchant.post("customers", {"email": "ada@shop.test"})
    [event] = merchant.provider.events.values()

    for guise in (Guise(status=Status.DECLINED), Guise(stale=True)):
        assert disguised(event, guise, 0.0, str).thing == event.thing


def test_a_refund_of_a_charge_in_another_status_is_one_of_that_charge(merchant: Any) -> None:
    intent = merchant.pay().data
    merchant.post("refunds", {"payment_intent": intent["id"], "amount": 200})
    event = next(e for e in merchant.provider.events.values() if e.type == "refund.created")

    seen = disguised(event, Guise(status=Status.DECLINED), 0.0, str).thing

    assert isinstance(seen, IntentRefund)
    assert seen.of.charge.status is Status.DECLINED
    assert seen.refund == event.refund


def test_a_true_event_can_be_told_as_a_stranger_would(merchant: Any) -> None:
    merchant.provider.add_endpoint(HOOK, SECRET)
    merchant.post("customers", {"email": "ada@shop.test"})
    [event] = merchant.provider.events.values()

    [attempt] = merchant.provider.forge(event, Tamper("wrong"), merchant.now)

    body = json.loads(merchant.provider.message(attempt, WALL_S).body)
    assert body["data"]["object"]["email"] == "ada@shop.test"
    assert merchant.provider.deliveries.by_id[attempt.delivery].forged
