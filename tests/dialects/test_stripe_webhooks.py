"""Events and webhooks: signed with a time, listed, retried, and told to several endpoints."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import stripe

from simulator.catalogue import dialects, rule_from
from simulator.core.deliveries import Answered
from simulator.core.results import ChargeShown
from simulator.dialects.stripe import Stripe
from simulator.dialects.stripe.objects import event_object
from simulator.dialects.stripe.webhooks import EVENT_TYPES, signature

SECRET = "whsec_of_the_shop"
A_CENTURY_S = 3_200_000_000  # what is signed here is signed at an instant of our choice
DAY_S = 86_400
VECTOR = json.loads((Path(__file__).parent / "stripe_signature.json").read_text())["stripe"]


def test_the_scan_finds_the_dialect() -> None:
    assert isinstance(dialects()["stripe"], Stripe)


def test_the_known_signature_is_reproduced() -> None:
    signed = signature((VECTOR["secret"],), VECTOR["ts"], VECTOR["body"].encode())

    assert signed == VECTOR["header"]


def test_during_a_rotation_there_are_two_signatures() -> None:
    signed = signature((SECRET, "whsec_old"), 1, b"{}")

    assert [part[:3] for part in signed.split(",")] == ["t=1", "v1=", "v1="]


@pytest.mark.parametrize(
    "secret,sound",
    [
        ("whsec_x", True),
        (Stripe.foreign_secret, True),
        ("whsec_", False),
        ("whsec_ ", False),
        ("secret", False),
        ("whsec_ü", False),
        ("whsec_a\n", False),
    ],
)
def test_a_secret_is_known_by_its_form(secret: str, sound: bool) -> None:  # noqa: FBT001
    assert Stripe().accepts_secret(secret) is sound


def test_the_official_library_accepts_what_is_sent(merchant: Any) -> None:
    merchant.provider.add_endpoint("http://shop.test/hook", SECRET)
    merchant.pay(key="k1")
    attempts = merchant.news()

    for attempt in attempts:
        message = merchant.provider.message(attempt, 1_800_000_000.0)
        event = stripe.Webhook.construct_event(
            message.body, message.headers["stripe-signature"], SECRET, tolerance=A_CENTURY_S
        )
        assert event.id == attempt.event.id
        assert event.request.idempotency_key == "k1"
        assert event.request.id == "req_1"
        assert message.path == "http://shop.test/hook"
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(
            message.body + b" ", message.headers["stripe-signature"], SECRET, tolerance=A_CENTURY_S
        )


def test_an_event_carries_the_thing_as_it_was(merchant: Any) -> None:
    held = merchant.hold()
    merchant.post(f"payment_intents/{held['id']}/capture")

    events = {e["type"]: e for e in merchant.get("events").data["data"]}

    assert events["payment_intent.created"]["data"]["object"]["status"] == (
        "requires_payment_method"
    )
    authorised = events["payment_intent.amount_capturable_updated"]
    assert authorised["data"]["object"]["status"] == "requires_capture"
    assert events["charge.succeeded"]["data"]["object"]["captured"] is False
    assert events["charge.captured"]["data"]["object"]["captured"] is True
    assert events["payment_intent.succeeded"]["data"]["object"]["amount_received"] == 500


def test_events_can_be_read_and_listed_for_thirty_days(merchant: Any) -> None:
    merchant.pay()
    merchant.later(15 * DAY_S)
    merchant.pay()
    old, *_, new = merchant.provider.events

    def listed() -> list[str]:
        return [each["id"] for each in merchant.get("events", {"limit": "100"}).data["data"]]

    merchant.later(15 * DAY_S - 1)
    assert {old, new} <= set(listed())
    assert merchant.get(f"events/{old}").status == 200

    merchant.later(1)
    assert listed() == list(merchant.provider.events)[:2:-1]
    assert merchant.get(f"events/{old}").error["code"] == "resource_missing"
    assert merchant.get(f"events/{new}").status == 200

    merchant.later(15 * DAY_S)
    assert listed() == []


def test_an_event_that_is_no_longer_listed_can_still_be_delivered(merchant: Any) -> None:
    merchant.provider.add_endpoint("http://shop.test/hook", SECRET)
    merchant.pay()
    merchant.news()
    merchant.later(31 * DAY_S)

    merchant.provider.resend("evt_1", merchant.now)

    assert [attempt.event.id for attempt in merchant.news()] == ["evt_1"]


def test_an_event_of_a_connected_account_says_whose_it_is(merchant: Any) -> None:
    merchant.pay()
    merchant.headers = {"stripe-account": "acct_1"}
    merchant.pay()

    own = merchant.provider.events["evt_1"]
    connected = next(e for e in merchant.provider.events.values() if e.account == "acct_1")

    assert "account" not in event_object(own, pending=1)
    assert event_object(connected, pending=1)["account"] == "acct_1"


def test_events_are_read_and_listed_by_type_and_by_delivery(merchant: Any) -> None:
    merchant.provider.add_endpoint("http://shop.test/hook", SECRET)
    merchant.pay()
    told = merchant.news(status=200)[0].event.id
    merchant.pay()
    for attempt in merchant.news(status=500):
        assert attempt.number == 1

    def ids(**wanted: Any) -> list[str]:
        return [each["id"] for each in merchant.get("events", wanted).data["data"]]

    assert ids(delivery_success="false") == ["evt_6", "evt_5", "evt_4"]
    assert ids(delivery_success="true") == ["evt_3", "evt_2", "evt_1"]
    assert ids(type="charge.succeeded") == ["evt_6", "evt_3"]
    assert ids(types=["charge.succeeded", "payment_intent.created"], limit=3) == [
        "evt_6",
        "evt_4",
        "evt_3",
    ]
    assert ids(starting_after="evt_2") == ["evt_1"]
    assert merchant.get(f"events/{told}").data["pending_webhooks"] == 0
    assert merchant.get("events/evt_4").data["pending_webhooks"] == 1
    assert merchant.get("events/evt_404").status == 404
    assert merchant.stranger().get("events").data["data"] == []
    lost_cursor = merchant.get("events", {"starting_after": "evt_404"})
    assert (lost_cursor.status, lost_cursor.error["param"]) == (400, "starting_after")
    assert merchant.get("events", {"ending_before": "x"}).error["param"] == "ending_before"


def test_an_endpoint_is_registered_and_its_secret_shown_once(merchant: Any) -> None:
    made = merchant.post(
        "webhook_endpoints",
        {"url": "http://shop.test/hook", "enabled_events": ["*"], "description": "mine"},
    ).data
    read = merchant.get(f"webhook_endpoints/{made['id']}").data

    assert made["secret"].startswith("whsec_")
    assert "secret" not in read
    assert (read["enabled_events"], read["status"]) == (["*"], "enabled")
    merchant.pay()
    [first, *_] = merchant.news()
    message = merchant.provider.message(first, 1_800_000_000.0)
    stripe.WebhookSignature.verify_header(
        message.body.decode(), message.headers["stripe-signature"], made["secret"]
    )


def test_endpoints_hear_of_what_they_want_and_of_their_account_only(merchant: Any) -> None:
    wanted = {"url": "http://shop.test/a", "enabled_events": ["payment_intent.succeeded"]}
    one = merchant.post("webhook_endpoints", wanted).data["id"]
    same_url = merchant.post(
        "webhook_endpoints", {**wanted, "enabled_events": ["charge.succeeded"]}
    ).data["id"]
    merchant.stranger().post("webhook_endpoints", wanted)

    merchant.pay()

    heard = [(each.url, each.event.type) for each in merchant.news()]
    assert heard == [
        ("http://shop.test/a", "payment_intent.succeeded"),
        ("http://shop.test/a", "charge.succeeded"),
    ]
    listed = merchant.get("webhook_endpoints").data["data"]
    assert [each["id"] for each in listed] == [same_url, one]


def test_an_event_is_delivered_when_every_endpoint_has_heard_of_it(merchant: Any) -> None:
    wanted = {"url": "http://shop.test/a", "enabled_events": ["charge.succeeded"]}
    merchant.post("webhook_endpoints", wanted)
    merchant.post("webhook_endpoints", wanted)
    merchant.pay()
    one, other = merchant.provider.attempts_due(0.0)

    merchant.provider.attempt_finished(one, Answered(200), 0.0)
    assert merchant.get(f"events/{one.event.id}").data["pending_webhooks"] == 1

    merchant.provider.attempt_finished(other, Answered(200), 0.0)
    assert merchant.get(f"events/{one.event.id}").data["pending_webhooks"] == 0


def test_a_deleted_endpoint_hears_nothing_more(merchant: Any) -> None:
    wanted = {"url": "http://shop.test/a", "enabled_events": ["*"]}
    one = merchant.post("webhook_endpoints", wanted).data["id"]
    other = merchant.post("webhook_endpoints", wanted).data["id"]
    merchant.pay()

    gone = merchant.call("DELETE", f"webhook_endpoints/{one}").data

    assert gone == {"id": one, "object": "webhook_endpoint", "deleted": True}
    assert len(merchant.news()) == 3
    assert merchant.get(f"webhook_endpoints/{one}").status == 404
    assert [e["id"] for e in merchant.get("webhook_endpoints").data["data"]] == [other]
    assert merchant.call("DELETE", f"webhook_endpoints/{one}").status == 404
    third = merchant.post("webhook_endpoints", wanted).data["id"]
    assert third not in {one, other}


@pytest.mark.parametrize("url", ["shop.test", "ftp://shop.test", "http://", "http://a b"])
def test_an_endpoint_needs_a_url(merchant: Any, url: str) -> None:
    refused = merchant.post("webhook_endpoints", {"url": url, "enabled_events": ["*"]})

    assert refused.error["code"] == "url_invalid"


@pytest.mark.parametrize(
    "status,acknowledged", [(200, True), (204, True), (302, False), (500, False)]
)
def test_only_a_2xx_is_an_acknowledgement(status: int, acknowledged: bool) -> None:  # noqa: FBT001
    assert Stripe().acknowledged(status, b"") is acknowledged


@pytest.mark.parametrize(
    "operation,types",
    [
        ("delivery.payment_intent.succeeded", ["payment_intent.succeeded"]),
        ("delivery.charge.captured", ["payment_intent.succeeded", "charge.succeeded"]),
        ("delivery", ["payment_intent.created", "payment_intent.succeeded", "charge.succeeded"]),
    ],
)
def test_a_rule_knows_an_event_by_its_type_and_by_its_fact(
    shop: Any, operation: str, types: list[str]
) -> None:
    merchant = shop(rule_from({"fault": "drop_delivery", "operation": operation}))
    merchant.provider.add_endpoint("http://shop.test/hook", SECRET)
    merchant.pay()
    merchant.news()

    fired = {e.value["delivery"] for e in merchant.journal.entries if e.lane == "fault"}

    by_id = merchant.provider.deliveries.by_id
    assert [by_id[each].event.type for each in sorted(fired)] == types


def test_a_foreign_secret_signs_wrongly(shop: Any) -> None:
    merchant = shop(rule_from({"fault": "wrong_signature", "operation": "delivery"}))
    merchant.provider.add_endpoint("http://shop.test/hook", SECRET)
    merchant.pay()
    [attempt, *_] = merchant.news()
    message = merchant.provider.message(attempt, 1_800_000_000.0)

    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(
            message.body, message.headers["stripe-signature"], SECRET, tolerance=A_CENTURY_S
        )


def test_redelivery_goes_on_for_about_three_days() -> None:
    assert 2.0 < sum(Stripe.schedule_s) / 86_400 < 3.0


def test_every_event_type_is_one_of_the_official_librarys() -> None:
    module = inspect.getmodule(stripe.params.WebhookEndpointCreateParams)
    assert module is not None
    told = inspect.getsource(module)

    assert [each for each in EVENT_TYPES.values() if f'"{each}"' not in told] == []


def test_there_are_no_words_for_the_results_of_other_calls(merchant: Any) -> None:
    merchant.pay()

    with pytest.raises(AssertionError, match="no word"):
        Stripe().answer(ChargeShown(merchant.provider.charges["ch_1"]))


def test_an_event_says_what_it_is_about(merchant: Any) -> None:
    merchant.post("customers")

    event = merchant.provider.events["evt_1"]

    assert repr(event) == "<Event evt_1 customer.created cus_1>"
    assert (event.charge_id, event.order, event.account) == (None, None, "sk_test_shop")
