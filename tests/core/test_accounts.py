"""Two tenants of one provider, their endpoints and their secrets."""

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

if TYPE_CHECKING:
    from simulator.core.deliveries import Attempt

    from .conftest import Build, Shop

HOOK = "http://shop.test/hook"
OLD, NEW, OTHER = (
    "whsec_" + base64.b64encode(name).decode() for name in (b"old", b"new", b"other")
)


def accepts(shop: "Shop", attempt: "Attempt", secret: str) -> bool:
    """Ask the official library, which compares the time with its own clock."""
    message = shop.provider.message(attempt, datetime.now(UTC).timestamp())
    try:
        Webhook(secret).verify(message.body.decode(), dict(message.headers))
    except WebhookVerificationError:
        return False
    return True


def test_a_tenant_sees_no_charge_of_another(provider: "Build") -> None:
    shop = provider()
    shop.charge("ord-1", "key-1", account="alice")

    for method, path, key in [
        ("GET", "/v1/charges/ch_1", None),
        ("POST", "/v1/charges/ch_1/capture", "key-2"),
        ("POST", "/v1/charges/ch_1/cancel", "key-3"),
        ("POST", "/v1/charges/ch_1/refunds", "key-4"),
    ]:
        assert shop.status(shop.send(method, path, key=key, account="bob")) == 404
    listed = shop.send("GET", "/v1/charges", query=(("reference", "ord-1"),), account="bob")
    assert shop.data(listed)["data"] == []


def test_a_tenant_sees_no_event_of_another(provider: "Build") -> None:
    shop = provider()
    shop.charge("ord-1", "key-1", account="alice")

    assert shop.data(shop.send("GET", "/v1/events", account="bob"))["data"] == []
    assert shop.status(shop.send("GET", "/v1/events/evt_1", account="bob")) == 404
    assert shop.status(shop.send("POST", "/v1/events/evt_1/resend", account="bob")) == 404


def test_a_key_of_one_tenant_says_nothing_to_another(provider: "Build") -> None:
    shop = provider()

    first = shop.data(shop.charge("ord-1", "key-1", account="alice"))
    second = shop.data(shop.charge("ord-2", "key-1", account="bob"))

    assert (first["id"], second["id"]) == ("ch_1", "ch_2")


def test_each_endpoint_is_told_of_its_account_under_its_secret(provider: "Build") -> None:
    shop = provider()
    shop.provider.add_endpoint("http://alice.test/1", OLD, "alice")
    shop.provider.add_endpoint("http://alice.test/2", NEW, "alice")
    shop.provider.add_endpoint("http://all.test/", OTHER)
    shop.charge("ord-1", "key-1", account="alice")
    shop.charge("ord-2", "key-2", account="bob")

    told = [(a.url, a.account, a.secret) for a in shop.provider.attempts_due(0)]

    assert told == [
        ("http://alice.test/1", "alice", OLD),
        ("http://alice.test/2", "alice", NEW),
        ("http://all.test/", "alice", OTHER),
        ("http://all.test/", "bob", OTHER),
    ]


def test_during_a_rotation_both_secrets_sign(provider: "Build") -> None:
    shop = provider()
    shop.provider.add_endpoint(HOOK, OLD)
    shop.charge()
    shop.provider.rotate_secret(HOOK, NEW, now=0, keep_s=60)

    [attempt] = shop.provider.attempts_due(59)

    assert attempt.secrets == (NEW, OLD)
    header = shop.provider.message(attempt, 0).headers["webhook-signature"]
    assert len(header.split(" ")) == 2
    assert [accepts(shop, attempt, secret) for secret in (OLD, NEW, OTHER)] == [True, True, False]


def test_after_a_rotation_only_the_new_secret_signs(provider: "Build") -> None:
    shop = provider()
    shop.provider.add_endpoint(HOOK, OLD)
    shop.charge()
    shop.provider.rotate_secret(HOOK, NEW, now=0, keep_s=60)

    [attempt] = shop.provider.attempts_due(60)

    assert [accepts(shop, attempt, secret) for secret in (OLD, NEW)] == [False, True]


def test_only_an_endpoint_that_is_there_has_a_secret_to_change(provider: "Build") -> None:
    shop = provider()
    shop.provider.add_endpoint(HOOK, OLD, "alice")

    with pytest.raises(KeyError):
        shop.provider.rotate_secret(HOOK, NEW, now=0, keep_s=60)
    with pytest.raises(ValueError, match="not a webhook secret"):
        shop.provider.rotate_secret(HOOK, "secret", "alice", now=0, keep_s=60)
