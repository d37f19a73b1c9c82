"""Every knob of the key policy, turned: what a provider can promise about keys, and then does."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.idempotency import InBody, InHeader, KeyPolicy, Nowhere, Refuse
from simulator.core.messages import Drop, Held, HttpRequest, Reply, Waiting
from simulator.core.rules import Rule
from simulator.dialects.generic import IETF, MONEY
from simulator.faults.decline import Decline
from simulator.faults.error_after_commit import ErrorAfterCommit
from simulator.faults.error_before_commit import ErrorBeforeCommit
from simulator.faults.hold import Hold
from simulator.faults.lose_reply import LoseReply
from simulator.faults.reset_before_commit import ResetBeforeCommit

if TYPE_CHECKING:
    from .conftest import Build, Shop

BODY = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1"}
OPTIONAL = replace(IETF, required_for=frozenset())
WAIT = replace(IETF, in_flight="wait")
HELD_ONCE = Rule(Hold("before_commit"), "hold", times=1)


def header(shop: "Shop", action: Any, name: str) -> str | None:
    return dict(shop.reply(action).headers).get(name)


# Where the key stands.


def test_a_key_may_stand_in_another_header(provider: "Build") -> None:
    shop = provider(policy=replace(OPTIONAL, place=InHeader("paypal-request-id")))

    for _ in range(2):
        shop.send("POST", "/v1/charges", BODY, more=(("paypal-request-id", "k"),))
    shop.send("POST", "/v1/charges", BODY, key="k")

    assert shop.captured() == ["ch_1", "ch_2"]


def test_a_key_may_stand_in_the_body(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, place=InBody(("idempotency_key",))))

    for _ in range(2):
        shop.send("POST", "/v1/charges", BODY | {"idempotency_key": "k"})

    assert shop.captured() == ["ch_1"]
    assert {entry.key for entry in shop.journal.entries} == {"k"}
    assert shop.data(shop.send("POST", "/v1/charges", BODY))["code"] == "key_missing"


@pytest.mark.parametrize(
    "body,key",
    [
        ({}, None),
        ({"input": {}}, None),
        ({"input": None}, None),
        ({"input": 1}, None),
        ({"input": {"request_key": "k"}}, "k"),
        ({"input": {"request_key": 1}}, ""),
        ({"input": {"request_key": None}}, None),
    ],
)
def test_a_key_may_stand_deep_in_the_body(body: dict[str, Any], key: str | None) -> None:
    policy = KeyPolicy(MONEY, place=InBody(("input", "request_key")))

    assert policy.key_in({"idempotency-key": "other"}, body) == key


def test_there_may_be_no_keys_at_all(provider: "Build") -> None:
    shop = provider(policy=replace(OPTIONAL, place=Nowhere()))

    for _ in range(2):
        shop.charge()

    assert shop.captured() == ["ch_1", "ch_2"]
    assert {entry.key for entry in shop.journal.entries} == {None}


def test_only_a_place_that_says_so_takes_quotes_off() -> None:
    quoted = {"idempotency-key": '"k"'}

    assert KeyPolicy(MONEY, place=InHeader()).key_in(quoted, {}) == '"k"'
    assert KeyPolicy(MONEY, place=InHeader(quoted=True)).key_in(quoted, {}) == "k"
    assert KeyPolicy(MONEY, place=InHeader(quoted=True)).key_in({"idempotency-key": ""}, {}) == ""


# What a key must be.


@pytest.mark.parametrize(
    "key,status",
    [("abc", 400), ("abcd", 201), ("a" * 36, 201), ("a" * 37, 400), ("ab_cd", 400)],
)
def test_length_and_alphabet_are_the_providers_own(
    provider: "Build", key: str, status: int
) -> None:
    policy = replace(IETF, pattern=r"[a-z0-9-]+", min_length=4, max_length=36)
    shop = provider(policy=policy)

    assert shop.status(shop.charge(key=key)) == status


def test_a_key_counts_only_where_it_is_heeded(provider: "Build") -> None:
    refunds = frozenset({"charge.refund"})
    shop = provider(policy=replace(IETF, heeded_for=refunds, required_for=refunds))
    for _ in range(2):
        shop.charge()

    refund = {"amount_minor": 100}
    for key in ("r", "r", None):
        shop.send("POST", "/v1/charges/ch_1/refunds", refund, key=key)

    assert shop.captured() == ["ch_1", "ch_2"]
    assert shop.provider.charges["ch_1"].refunded_minor == 100


# Whose key it is, and for how long.


@pytest.mark.parametrize(
    "scope,account,path,status",
    [
        ("account", "bob", "/v1/charges", 201),
        ("account", "shop", "/v1/charges/ch_1/refunds", 422),
        ("account_and_operation", "shop", "/v1/charges/ch_1/refunds", 201),
        ("everyone", "bob", "/v1/charges", 201),
    ],
)
def test_a_scope_keeps_keys_apart(
    provider: "Build", scope: Any, account: str, path: str, status: int
) -> None:
    shop = provider(policy=replace(IETF, scope=scope))
    shop.send("POST", "/v1/charges", BODY, key="k")

    body = BODY if path == "/v1/charges" else {}
    again = shop.send("POST", path, body, key="k", account=account)

    assert shop.status(again) == status
    assert len(shop.captured()) == (2 if (scope, account) == ("account", "bob") else 1)


def test_a_key_is_forgotten_after_its_retention(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, retention_s=60))
    shop.charge()
    shop.now = 59.9
    assert header(shop, shop.charge(), "idempotent-replayed") == "true"

    shop.now = 60
    shop.charge()

    assert shop.captured() == ["ch_1", "ch_2"]


def test_keys_that_are_over_take_no_memory(provider: "Build") -> None:
    shop = provider(HELD_ONCE, policy=replace(IETF, retention_s=60))
    held = shop.charge("ord-held", "key-held")
    for number in range(10):
        shop.charge(f"ord-{number}", f"key-{number}")
    assert shop.provider.known_keys == 11

    shop.now = 100.0
    shop.resume(held)
    shop.charge("ord-last", "key-last")

    assert shop.provider.known_keys == 1
    assert shop.status(shop.charge("ord-held", "key-held")) == 201
    assert shop.captured().count("ch_1") == 1


def test_a_key_in_flight_outlives_its_retention(provider: "Build") -> None:
    shop = provider(HELD_ONCE, policy=replace(IETF, retention_s=60))
    held = shop.charge("ord-held", "key-held")
    shop.charge("ord-1", "key-1")
    shop.now = 100.0

    shop.charge("ord-2", "key-2")
    meanwhile = shop.charge("ord-held", "key-held")

    assert shop.status(meanwhile) == 409
    shop.resume(held)
    assert shop.captured("ord-held") == ["ch_3"]


# What is stored.


@pytest.mark.parametrize(
    "stored,faults,statuses,charges",
    [
        ("all", [ErrorAfterCommit(500, stored=False)], [500, 201], 1),
        ("all", [ErrorAfterCommit(500)], [500, 500], 1),
        ("all", [ErrorBeforeCommit(503)], [503, 201], 1),
        ("all", [ErrorBeforeCommit(503, stored=True)], [503, 503], 0),
        ("nothing", [], [201, 201], 2),
        ("2xx", [], [201, 201], 1),
        ("all", [LoseReply()], [None, 201], 1),
        ("nothing", [LoseReply()], [None, 201], 2),
    ],
)
def test_what_is_stored_is_what_is_replayed(
    provider: "Build", stored: Any, faults: list[Any], statuses: list[int | None], charges: int
) -> None:
    rules = [Rule(fault, fault.name, times=1) for fault in faults]
    shop = provider(*rules, policy=replace(IETF, stored=stored))

    answers = [shop.charge() for _ in range(2)]

    assert [a.reply.status if isinstance(a, Reply) else None for a in answers] == statuses
    assert len(shop.captured()) == charges


@pytest.mark.parametrize("stored,tries", [("all", 1), ("non_5xx", 1), ("2xx", 2), ("nothing", 2)])
def test_a_refusal_is_bound_to_its_key_or_tried_again(
    provider: "Build", stored: Any, tries: int
) -> None:
    shop = provider(policy=replace(IETF, stored=stored))
    shop.charge(capture=False)
    too_much = {"amount_minor": 501}

    for _ in range(2):
        shop.send("POST", "/v1/charges/ch_1/capture", too_much, key="k")

    replayed = [entry.value["replayed"] for entry in shop.entries("reply", "send")]
    assert replayed == [False, False, tries == 1]


# What a replay looks like.


def test_a_replay_is_the_first_answer_to_the_byte(provider: "Build") -> None:
    shop = provider()
    first = shop.reply(shop.charge())
    shop.send("POST", "/v1/charges/ch_1/refunds", key="r")

    again = shop.reply(shop.charge())

    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers == (*first.headers, ("idempotent-replayed", "true"))


@pytest.mark.parametrize(
    "marker", [None, ("x-replay", "yes"), ("cko-idempotency-replayed", "true")]
)
def test_a_replay_carries_the_providers_marker(
    provider: "Build", marker: tuple[str, str] | None
) -> None:
    shop = provider(policy=replace(IETF, replay_marker=marker))
    first = shop.reply(shop.charge())

    again = shop.reply(shop.charge())

    assert again.headers[len(first.headers) :] == (() if marker is None else (marker,))


def test_a_replayed_success_may_have_a_status_of_its_own(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, replay_status=200))
    assert [shop.status(shop.charge()) for _ in range(2)] == [201, 200]

    missing = [shop.send("POST", "/v1/charges/ch_9/cancel", key="k") for _ in range(2)]

    assert [shop.status(action) for action in missing] == [404, 404]


def test_a_replay_may_show_the_present_state(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, replay="current_state", replay_status=200))
    shop.charge(capture=False)
    shop.send("POST", "/v1/charges/ch_1/capture", key="c")
    refund = shop.data(shop.send("POST", "/v1/charges/ch_1/refunds", key="r"))

    assert shop.data(shop.charge(capture=False))["status"] == "refunded"
    captured = shop.send("POST", "/v1/charges/ch_1/capture", key="c")
    assert shop.data(captured)["status"] == "refunded"
    again = shop.send("POST", "/v1/charges/ch_1/refunds", key="r")
    assert shop.data(again) == refund
    assert [entry.value["charge"] for entry in shop.entries("reply", "send")] == ["ch_1"] * 6


def test_the_present_state_of_a_declined_charge_is_declined(provider: "Build") -> None:

    shop = provider(Rule(Decline(), "no", times=1), policy=replace(IETF, replay="current_state"))

    answers = [shop.reply(shop.charge()) for _ in range(2)]

    assert [answer.status for answer in answers] == [402, 402]
    assert answers[0].body == answers[1].body


def test_the_present_state_of_what_never_was_is_the_first_answer(provider: "Build") -> None:
    shop = provider(
        Rule(ErrorBeforeCommit(503, stored=True), "error", times=1),
        policy=replace(IETF, replay="current_state"),
    )
    assert [shop.status(shop.charge()) for _ in range(2)] == [503, 503]

    missing = [shop.send("POST", "/v1/charges/ch_9/cancel", key="k") for _ in range(2)]
    assert [shop.status(action) for action in missing] == [404, 404]


def test_a_replay_may_be_a_conflict_that_names_the_charge(provider: "Build") -> None:
    policy = replace(IETF, replay="conflict", replay_marker=None)
    shop = provider(policy=policy)
    made = shop.data(shop.charge())

    again = shop.charge()

    assert shop.status(again) == 409
    assert shop.data(again)["code"] == "key_conflict"
    assert shop.data(again)["resource"] == made["id"]
    assert shop.captured() == ["ch_1"]


def test_where_nothing_was_made_there_is_no_conflict(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, replay="conflict"))

    missing = [shop.send("POST", "/v1/charges/ch_9/cancel", key="k") for _ in range(2)]

    assert [shop.status(action) for action in missing] == [404, 404]


# Another request, and the same one at the same time.


@pytest.mark.parametrize(
    "mismatch,status,code",
    [
        (Refuse("key_mismatch"), 422, "key_mismatch"),
        (Refuse("key_mismatch", status=400), 400, "key_mismatch"),
        (Refuse("duplicate_request_id", status=409), 409, "duplicate_request_id"),
    ],
)
def test_another_request_under_a_known_key_is_refused_in_the_providers_way(
    provider: "Build", mismatch: Refuse, status: int, code: str
) -> None:
    shop = provider(policy=replace(IETF, mismatch=mismatch))
    shop.charge()

    other = shop.charge(amount_minor=501)

    assert (shop.status(other), shop.data(other)["code"]) == (status, code)


def test_another_request_may_get_the_first_answer(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, mismatch="replay"))
    first = shop.data(shop.charge())

    assert shop.data(shop.charge(amount_minor=501)) == first
    assert shop.captured() == ["ch_1"]


@pytest.mark.parametrize(
    "in_flight,status,retry_after",
    [
        (Refuse("key_in_flight", retry_after_s=1), 409, "1"),
        (Refuse("key_in_flight"), 409, None),
        (Refuse("key_in_flight", status=422), 422, None),
        (Refuse("processing", status=202, retry_after_s=30), 202, "30"),
    ],
)
def test_the_same_request_at_the_same_time_is_refused_in_the_providers_way(
    provider: "Build", in_flight: Refuse, status: int, retry_after: str | None
) -> None:
    shop = provider(HELD_ONCE, policy=replace(IETF, in_flight=in_flight))
    shop.charge()

    second = shop.charge()

    assert (shop.status(second), header(shop, second, "retry-after")) == (status, retry_after)


def test_the_same_request_may_wait_for_the_first(provider: "Build") -> None:
    shop = provider(HELD_ONCE, policy=WAIT)
    first = shop.charge()
    assert isinstance(first, Held)

    second, third = shop.charge(), shop.charge()

    assert second == Waiting("call-2", behind="call-1")
    assert third == Waiting("call-3", behind="call-1")
    ends = shop.provider.resume(first.call, shop.now)
    assert [end.call for end in ends] == ["call-1", "call-2", "call-3"]
    assert [shop.status(end) for end in ends] == [201, 201, 201]
    assert [header(shop, end, "idempotent-replayed") for end in ends] == [None, "true", "true"]
    assert shop.captured() == ["ch_1"]


def test_who_waits_is_seen_to_wait(provider: "Build") -> None:
    shop = provider(HELD_ONCE, policy=WAIT)
    first = shop.charge()
    shop.charge()
    shop.provider.resume(first.call, shop.now)

    [_, parked], [_, released] = shop.entries("call", "park"), shop.entries("call", "release")
    assert parked.value == {
        "what": "call",
        "call": "call-2",
        "operation": "charge.create",
        "seam": "on_receive",
        "condition": "first_done",
        "behind": "call-1",
    }
    assert released.value["reason"] == "first_done"


def test_who_waits_goes_on_when_the_first_is_stored_not_when_it_is_answered(
    provider: "Build",
) -> None:
    shop = provider(HELD_ONCE, Rule(Hold("after_commit"), "late", times=1, nth=1), policy=WAIT)
    first = shop.charge()
    shop.charge()

    held, second = shop.provider.resume(first.call, shop.now)

    assert isinstance(held, Held)
    assert (held.seam, shop.status(second)) == ("after_commit", 201)


def test_when_the_first_comes_to_nothing_the_next_is_the_first(provider: "Build") -> None:
    reset = Rule(ResetBeforeCommit(), "reset", times=1)
    again = Rule(Hold("before_commit"), "again", times=1)
    shop = provider(HELD_ONCE, reset, again, policy=WAIT)
    first = shop.charge()
    second, third = shop.charge(), shop.charge()

    dropped, held = shop.provider.resume(first.call, shop.now)

    assert isinstance(dropped, Drop)
    assert isinstance(held, Held)
    assert held.call == second.call
    assert [entry.value.get("behind") for entry in shop.entries("call", "park")][-1] == "call-2"
    ends = shop.provider.resume(held.call, shop.now)
    assert [end.call for end in ends] == [second.call, third.call]
    assert shop.captured() == ["ch_1"]


# Headers that repeat the key.


def test_the_key_may_be_repeated_in_every_answer(provider: "Build") -> None:
    shop = provider(HELD_ONCE, policy=replace(IETF, echo="idempotency-key"))
    held = shop.charge()
    answers = [shop.charge(), shop.resume(held), shop.charge(), shop.charge(amount_minor=1)]

    assert [header(shop, answer, "idempotency-key") for answer in answers] == ["key-1"] * 4
    listed = shop.send("GET", "/v1/charges")
    assert header(shop, listed, "idempotency-key") is None


# Keys ignored.


def test_a_provider_that_ignores_keys_executes_every_call(provider: "Build") -> None:
    shop = provider(keys="ignored")

    shop.charge()
    shop.charge()
    shop.charge("ord-2", key=None)
    shop.charge("ord-3", key="")

    assert shop.captured() == ["ch_1", "ch_2", "ch_3", "ch_4"]
    honoured = [entry.value["key_honoured"] for entry in shop.entries("charge.captured")]
    assert honoured == [False] * 4
    assert shop.entries("charge.captured")[0].key == "key-1"


def test_keys_can_be_ignored_for_a_while(provider: "Build") -> None:
    shop = provider()
    assert shop.provider.keys == "honoured"
    shop.charge()

    shop.provider.keys = "ignored"
    assert shop.provider.keys == "ignored"
    shop.charge()
    shop.provider.keys = "honoured"
    shop.charge()

    assert shop.captured() == ["ch_1", "ch_2"]


def test_an_unreadable_request_has_no_key_to_echo(provider: "Build") -> None:
    shop = provider(policy=replace(IETF, echo="idempotency-key"))

    [action] = shop.provider.receive(HttpRequest("GET", "/nowhere"), 0)

    assert shop.reply(action).status == 404
