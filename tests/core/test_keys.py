"""What a provider remembers of keys: five answers, and the policies that shape them."""

from typing import Any

import pytest

from simulator.core.calls import Call, CreateCharge
from simulator.core.idempotency import (
    Expired,
    Fresh,
    InFlight,
    KeyPolicy,
    KeyStore,
    Mismatch,
    Replay,
)
from simulator.core.messages import HttpReply, HttpRequest

CREATE = frozenset({"charge.create"})
POLICY = KeyPolicy(heeded_for=CREATE, required_for=CREATE, retention_s=100.0)
REPLY = HttpReply(201, (), b"{}")


def call(id_: str = "call-1", **changes: Any) -> Call:
    fields: dict[str, Any] = {
        "operation": "charge.create",
        "account": "shop",
        "key": "key-1",
        "order": "ord-1",
        "params": CreateCharge(500, "EUR"),
        "fingerprint": "same",
        "request": HttpRequest("POST", "/v1/charges"),
        "cause": 0,
    }
    return Call(id_, **fields | changes)


def test_a_key_never_seen_is_fresh() -> None:
    assert KeyStore(POLICY).lookup(call(), 0) == Fresh()


def test_a_claimed_key_is_in_flight_for_as_long_as_it_takes() -> None:
    store = KeyStore(POLICY)
    store.claim(call("call-1"), 0)

    assert store.lookup(call("call-2"), 1_000_000) == InFlight("call-1")


def test_a_stored_key_replays_until_its_retention_is_over() -> None:
    store = KeyStore(POLICY)
    store.store(store.claim(call(), 10), REPLY, "ch_1")

    assert store.lookup(call("call-2"), 109.9) == Replay(REPLY, "ch_1")
    assert store.lookup(call("call-2"), 110) == Expired()


def test_an_expired_key_has_a_second_life() -> None:
    store = KeyStore(POLICY)
    store.store(store.claim(call(), 0), REPLY, "ch_1")

    store.claim(call("call-2", fingerprint="other"), 100)

    assert store.lookup(call("call-3", fingerprint="other"), 100) == InFlight("call-2")


@pytest.mark.parametrize("stored", [False, True])
def test_another_request_under_a_known_key_is_a_mismatch(stored: bool) -> None:  # noqa: FBT001
    store = KeyStore(POLICY)
    claim = store.claim(call(), 0)
    if stored:
        store.store(claim, REPLY, "ch_1")

    assert store.lookup(call("call-2", fingerprint="other"), 0) == Mismatch()


def test_a_policy_may_replay_whatever_is_asked() -> None:
    store = KeyStore(KeyPolicy(heeded_for=CREATE, mismatch="replay"))
    store.store(store.claim(call(), 0), REPLY, "ch_1")

    assert store.lookup(call("call-2", fingerprint="other"), 0) == Replay(REPLY, "ch_1")


def test_a_released_key_is_as_if_never_seen() -> None:
    store = KeyStore(POLICY)
    claim = store.claim(call(), 0)

    store.release(claim)

    assert store.lookup(call("call-2"), 0) == Fresh()


def test_a_call_that_was_overtaken_after_the_expiry_cannot_store_any_more() -> None:
    store = KeyStore(POLICY)
    first = store.claim(call("call-1"), 0)
    store.store(first, REPLY, "ch_1")
    store.claim(call("call-2"), 100)

    store.store(first, REPLY, "ch_1")

    assert store.lookup(call("call-3"), 100) == InFlight("call-2")


@pytest.mark.parametrize(
    "scope,changes,known",
    [
        ("account", {"account": "other"}, False),
        ("account", {"operation": "charge.refund"}, True),
        ("account_and_operation", {"operation": "charge.refund"}, False),
        ("account_and_operation", {"account": "other"}, False),
        ("everyone", {"account": "other"}, True),
    ],
)
def test_the_scope_says_whose_key_it_is(scope: Any, changes: dict[str, str], known: bool) -> None:  # noqa: FBT001
    store = KeyStore(KeyPolicy(heeded_for=CREATE, scope=scope))
    store.claim(call(), 0)

    assert (store.lookup(call("call-2", **changes), 0) != Fresh()) is known


@pytest.mark.parametrize(
    "operation,key,objection",
    [
        ("charge.create", "k", None),
        ("charge.create", "~" * 255, None),
        ("charge.create", None, "key_missing"),
        ("charge.create", "", "key_invalid"),
        ("charge.create", "~" * 256, "key_invalid"),
        ("charge.create", "clé", "key_invalid"),
        ("charge.create", "a\nb", "key_invalid"),
        ("charge.create", "a\n", "key_invalid"),
        ("charge.read", None, None),
        ("charge.read", "", None),
    ],
)
def test_a_key_must_do(operation: str, key: str | None, objection: str | None) -> None:
    assert POLICY.objection(operation, key) == objection


def test_a_key_that_is_heeded_need_not_be_required() -> None:
    assert KeyPolicy(heeded_for=CREATE).objection("charge.create", None) is None


@pytest.mark.parametrize(
    "stored,statuses",
    [
        ("all", [200, 201, 402, 409, 500]),
        ("2xx", [200, 201]),
        ("non_5xx", [200, 201, 402, 409]),
        ("nothing", []),
    ],
)
def test_the_policy_says_which_outcomes_are_stored(stored: Any, statuses: list[int]) -> None:
    policy = KeyPolicy(heeded_for=CREATE, stored=stored)

    assert [s for s in (200, 201, 402, 409, 500) if policy.stores(s)] == statuses
