"""The neutral dialect: what it reads, what it says, and how it signs."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    CreateCharge,
    ListCharges,
    ListEvents,
    Operation,
    Params,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
    Unreadable,
)
from simulator.core.charges import Charge, Refund, Status
from simulator.core.dialect import Dialect
from simulator.core.events import Event
from simulator.core.journal import Journal
from simulator.core.json_text import encoder
from simulator.core.messages import HttpReply, HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.results import ChargeShown, ChargesListed, Problem
from simulator.dialects.generic import IETF, PROBLEMS, ROUTES, Generic, instant, sign

GENERIC: Dialect = Generic()
CHARGE = Charge("ch_1", "shop", 500, "EUR", "ord-1", "cus-1").capture()
BODY: dict[str, Any] = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1"}


def read(
    method: str,
    path: str,
    body: bytes = b"",
    *,
    query: tuple[tuple[str, str], ...] = (),
    **headers: str,
) -> Operation | Unreadable:
    named = {"authorization": "Bearer shop"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return GENERIC.read(HttpRequest(method, path, query, named, body))


def create(**changes: Any) -> Operation | Unreadable:
    return read("POST", "/v1/charges", json.dumps(BODY | changes).encode(), idempotency_key="k")


def problem(unread: Operation | Unreadable) -> tuple[str, str]:
    assert isinstance(unread, Unreadable)
    return unread.problem.code, unread.operation


# Reading.


@pytest.mark.parametrize(
    "method,path,body,query,params",
    [
        ("POST", "/v1/charges", BODY, (), CreateCharge(500, "EUR", "ord-1")),
        ("GET", "/v1/charges", None, (("reference", "o"),), ListCharges("o")),
        ("GET", "/v1/charges", None, (), ListCharges()),
        ("GET", "/v1/charges/ch_1", None, (), ReadCharge("ch_1")),
        ("POST", "/v1/charges/ch_1/capture", None, (), CaptureCharge("ch_1")),
        ("POST", "/v1/charges/ch_1/capture", {"amount_minor": 1}, (), CaptureCharge("ch_1", 1)),
        ("POST", "/v1/charges/ch_1/cancel", {}, (), CancelCharge("ch_1")),
        ("POST", "/v1/charges/ch_1/refunds", {"amount_minor": 2}, (), RefundCharge("ch_1", 2)),
        ("GET", "/v1/events", None, (), ListEvents()),
        ("GET", "/v1/events", None, (("delivered", "false"),), ListEvents(False)),
        ("GET", "/v1/events", None, (("delivered", "true"),), ListEvents(True)),
        ("GET", "/v1/events/evt_1", None, (), ReadEvent("evt_1")),
        ("POST", "/v1/events/evt_1/resend", None, (), ResendEvent("evt_1")),
    ],
)
def test_every_route_is_read(
    method: str, path: str, body: object, query: Any, params: Params
) -> None:
    content = b"" if body is None else json.dumps(body).encode()

    operation = read(method, path, content, query=query)

    assert isinstance(operation, Operation)
    assert (operation.params, operation.account, operation.key) == (params, "shop", None)
    [shape] = [s for s, methods in ROUTES.items() if params.operation in _names(methods)]
    assert shape.split("/")[0] == path.split("/")[2]


def _names(methods: Mapping[str, tuple[str, object]]) -> set[str]:
    return {operation for operation, _ in methods.values()}


def test_a_charge_carries_all_that_was_sent() -> None:
    operation = create(customer="cus-1", capture=False, metadata={"a": "b"})

    assert isinstance(operation, Operation)
    assert operation.params == CreateCharge(500, "EUR", "ord-1", "cus-1", False, {"a": "b"})


@pytest.mark.parametrize(
    "sent,key",
    [
        ("8e03978e", "8e03978e"),
        ('"8e03978e"', "8e03978e"),
        (r'"a \"b\" \\c"', r'a "b" \c'),
        ('""', ""),
        ('"open', ""),
        (r'"bad \escape"', ""),
        ('"a" ; b', ""),
        ("'a'", "'a'"),
    ],
)
def test_a_key_is_read_raw_or_quoted(sent: str, key: str) -> None:
    operation = read("POST", "/v1/charges", json.dumps(BODY).encode(), idempotency_key=sent)

    assert isinstance(operation, Operation)
    assert operation.key == key


@pytest.mark.parametrize(
    "one,other,same",
    [
        (b'{"amount_minor":500,"currency":"EUR"}', b'{"currency":"EUR", "amount_minor":500}', True),
        (b'{"amount_minor":500,"currency":"EUR"}', b'{"amount_minor":501,"currency":"EUR"}', False),
    ],
)
def test_requests_are_equal_when_they_ask_the_same(one: bytes, other: bytes, same: bool) -> None:  # noqa: FBT001
    first, second = (read("POST", "/v1/charges", body) for body in (one, other))

    assert isinstance(first, Operation)
    assert isinstance(second, Operation)
    assert (first.params == second.params) is same


def test_another_path_is_another_request() -> None:
    first, second = (read("POST", f"/v1/charges/{id_}/cancel") for id_ in ("ch_1", "ch_2"))

    assert isinstance(first, Operation)
    assert isinstance(second, Operation)
    assert first.params != second.params


@pytest.mark.parametrize(
    "method,path,code,operation",
    [
        ("GET", "/", "not_found", "unknown"),
        ("GET", "", "not_found", "unknown"),
        ("GET", "/v1/refunds", "not_found", "unknown"),
        ("GET", "/v2/charges", "not_found", "unknown"),
        ("GET", "/v1/charges/*/x", "not_found", "unknown"),
        ("GET", "/v1/charges/a/b/c", "not_found", "unknown"),
        ("DELETE", "/v1/charges/ch_1", "method_not_allowed", "unknown"),
        ("PUT", "/v1/charges", "method_not_allowed", "unknown"),
    ],
)
def test_a_path_that_leads_nowhere_is_said_so(
    method: str, path: str, code: str, operation: str
) -> None:
    assert problem(read(method, path)) == (code, operation)


@pytest.mark.parametrize(
    "value", ["", "shop", "Basic c2hvcDo=", "Bearer", "Bearer ", "Bearer a b", "Bearer é"]
)
def test_without_a_bearer_token_nobody_is_anybody(value: str) -> None:
    unread = read("GET", "/v1/charges", authorization=value)

    assert problem(unread) == ("unauthorised", "charge.list")
    assert isinstance(unread, Unreadable)
    assert unread.account is None


def test_the_scheme_of_a_token_may_be_written_in_any_case() -> None:
    assert isinstance(read("GET", "/v1/charges", authorization="bearer shop"), Operation)


@pytest.mark.parametrize(
    "body,code",
    [
        (b"", "invalid_field"),
        (b"{}", "invalid_field"),
        (b"[]", "bad_request"),
        (b"null", "bad_request"),
        (b"{", "bad_request"),
        (b'{"amount_minor":1} {"currency":"EUR"}', "bad_request"),
        (b"\xff\xfe{\x00}\x00", "bad_request"),
        (b'\xef\xbb\xbf{"amount_minor":1,"currency":"EUR"}', "bad_request"),
        (b'{"amount_minor":NaN,"currency":"EUR"}', "bad_request"),
        (b'{"amount_minor":1e999,"currency":"EUR"}', "invalid_field"),
        (b'{"amount_minor":' + b"9" * 5_000 + b',"currency":"EUR"}', "bad_request"),
        (b'{"amount_minor":1,"currency":"EUR","reference":"\\ud800"}', "invalid_field"),
        (b'{"amount_minor":1,"currency":"EUR","metadata":{"a":"\\ud800"}}', "invalid_field"),
        (b'{"amount_minor":1,"currency":"EUR","metadata":{"\\ud800":"a"}}', "invalid_field"),
        (b"[" * 50_000, "bad_request"),
        (b'{"a":' * 9_000 + b"1" + b"}" * 9_000, "bad_request"),
        (b" " * 65_537, "too_large"),
    ],
)
def test_a_hostile_body_is_refused(body: bytes, code: str) -> None:
    assert problem(read("POST", "/v1/charges", body)) == (code, "charge.create")


@pytest.mark.parametrize(
    "changes",
    [
        {"amount_minor": None},
        {"amount_minor": 0},
        {"amount_minor": -1},
        {"amount_minor": True},
        {"amount_minor": 5.0},
        {"amount_minor": "500"},
        {"amount_minor": 10**12},
        {"currency": None},
        {"currency": "eur"},
        {"currency": "EURO"},
        {"currency": "EU\n"},
        {"currency": 978},
        {"capture": 1},
        {"capture": "true"},
        {"capture": None},
        {"reference": ""},
        {"reference": 7},
        {"reference": "a\x00b"},
        {"reference": "x" * 256},
        {"customer": ["cus-1"]},
        {"metadata": []},
        {"metadata": {"a": 1}},
        {"captured": False},
        {"é" * 500: 1},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_field_that_will_not_do_is_named(changes: dict[str, Any]) -> None:
    unread = create(**changes)

    assert problem(unread) == ("invalid_field", "charge.create")
    assert isinstance(unread, Unreadable)
    assert next(iter(changes))[:10] in unread.problem.detail
    assert (unread.account, unread.key) == ("shop", "k")


@pytest.mark.parametrize("reference", ["заказ-1", "順番", "x" * 255, "a b"])
def test_a_reference_may_be_in_any_script(reference: str) -> None:
    operation = create(reference=reference)

    assert isinstance(operation, Operation)
    assert operation.params == CreateCharge(500, "EUR", reference)


@pytest.mark.parametrize(
    "method,path,query,body",
    [
        ("GET", "/v1/charges", (("order", "x"),), b""),
        ("GET", "/v1/charges", (("reference", ""),), b""),
        ("GET", "/v1/events", (("delivered", "maybe"),), b""),
        ("GET", "/v1/events", (("since", "1"),), b""),
        ("POST", "/v1/charges/ch_1/cancel", (), b'{"why":"x"}'),
        ("POST", "/v1/charges/ch_1/capture", (), b'{"amount":1}'),
        ("POST", "/v1/charges/ch_1/refunds", (), b'{"amount_minor":true}'),
        ("POST", "/v1/events/evt_1/resend", (), b'{"to":"x"}'),
    ],
)
def test_what_the_api_does_not_know_is_refused(
    method: str, path: str, query: Any, body: bytes
) -> None:
    assert problem(read(method, path, body, query=query))[0] == "invalid_field"


def test_a_key_that_is_none_is_not_repeated() -> None:
    unread = read("POST", "/v1/charges", b"{", idempotency_key="\ud800")

    assert isinstance(unread, Unreadable)
    assert unread.key is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
known_fields = st.sampled_from(
    ["amount_minor", "currency", "reference", "customer", "capture", "metadata"]
)
bodies = (
    st.binary(max_size=60)
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(known_fields, json_values | st.sampled_from([5, "EUR", True, {}])).map(
        lambda value: json.dumps(value).encode()
    )
)
paths = st.sampled_from(
    ["/v1/charges", "/v1/charges/ch_1", "/v1/charges/ch_1/refunds", "/v1/events/evt_1/resend"]
) | st.text(st.characters(), max_size=20).map(lambda text: "/v1/" + text)
headers = st.dictionaries(
    st.sampled_from(["authorization", "idempotency-key", "content-type"]),
    st.sampled_from(["Bearer shop", '"key"', "key"]) | st.text(st.characters(), max_size=12),
)


@given(st.sampled_from(["GET", "POST", "PUT", "é", "\ud800"]), paths, headers, bodies)
@example("POST", "/v1/charges", {"authorization": "Bearer shop"}, b"[" * 100_000)
def test_whatever_is_sent_is_answered_and_written_down_as_json(
    method: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    provider = Provider(Generic())

    [action] = provider.receive(HttpRequest(method, path, (), headers, body), 0)

    assert action.call == "call-1"
    assert provider.ledger.discrepancies() == []
    assert isinstance(provider.sink, Journal)
    for entry in provider.sink.entries:
        json.dumps([entry.key, entry.tenant, dict(entry.value)], ensure_ascii=False).encode()


def test_a_nameless_charge_is_not_found() -> None:
    [action] = Provider(Generic()).receive(
        HttpRequest("GET", "/v1/charges/", (), {"authorization": "Bearer shop"}), 0
    )

    assert isinstance(action, Reply)
    assert action.reply.status == 404


# Writing.


def test_every_problem_is_a_document_of_its_status() -> None:
    for code, (status, title) in PROBLEMS.items():
        reply = GENERIC.answer(Problem(code, "GET"))

        document = json.loads(reply.body)
        assert (reply.status, document["status"]) == (status, status)
        assert (document["title"], document["code"]) == (title, code)
        assert document["type"] == f"urn:onecharge:problem:{code}"
        assert ("content-type", "application/problem+json") in reply.headers


def test_a_refusal_says_what_would_do() -> None:
    assert ("www-authenticate", "Bearer") in GENERIC.answer(Problem("unauthorised")).headers
    refused = GENERIC.answer(Problem("method_not_allowed", "GET, POST"))
    assert ("allow", "GET, POST") in refused.headers
    assert ("retry-after", "3") in GENERIC.answer(Problem("x", retry_after_s=3)).headers


def test_a_replay_is_the_first_reply_with_a_mark() -> None:
    first = HttpReply(201, (("content-type", "application/json"),), b"{}")

    again = IETF.marked(first)

    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers == (*first.headers, ("idempotent-replayed", "true"))


# Webhooks.


def test_the_signature_is_that_of_the_specification() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'

    signature = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body)

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


EVENT = Event("evt_1", "charge.captured", CHARGE, None, 86_399.9, 0)
SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"


def test_the_official_library_accepts_our_webhooks() -> None:
    now = datetime.now(UTC).timestamp()

    message = GENERIC.message(EVENT, "http://shop.test/hook", (SECRET,), now)

    data = Webhook(SECRET).verify(message.body.decode(), dict(message.headers))
    assert data == {
        "type": "charge.captured",
        "timestamp": "2026-01-01T23:59:59Z",
        "data": {
            "charge": {
                "id": "ch_1",
                "object": "charge",
                "status": "captured",
                "amount_minor": 500,
                "captured_minor": 500,
                "refunded_minor": 0,
                "currency": "EUR",
                "reference": "ord-1",
                "customer": "cus-1",
                "metadata": {},
                "decline_code": None,
                "created": 0,
            }
        },
    }
    assert (message.method, message.path) == ("POST", "http://shop.test/hook")
    assert message.headers["webhook-id"] == "evt_1"
    assert message.headers["webhook-timestamp"] == str(int(now))


def test_attempts_differ_in_timestamp_and_signature_alone() -> None:
    first, second = (GENERIC.message(EVENT, "http://a.test/", (SECRET,), now) for now in (1.0, 2.9))

    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert second.headers["webhook-timestamp"] == "2"
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


def test_a_refund_is_told_with_its_charge() -> None:
    refund = Refund("re_1", "ch_1", 200)
    event = Event("evt_2", "charge.refunded", CHARGE.refund(200), refund, 0, 0)

    data = json.loads(GENERIC.message(event, "http://a.test/", (SECRET,), 0).body)["data"]

    assert data["refund"]["amount_minor"] == 200
    assert data["charge"]["refunded_minor"] == 200


def test_the_foreign_secret_is_well_formed_and_nobody_elses() -> None:
    assert GENERIC.accepts_secret(GENERIC.foreign_secret)
    foreign = GENERIC.message(EVENT, "http://a.test/", (GENERIC.foreign_secret,), 0)
    own = GENERIC.message(EVENT, "http://a.test/", (SECRET,), 0)
    assert foreign.headers["webhook-signature"] != own.headers["webhook-signature"]


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_***", "whsec_é", "whsec_a"])
def test_a_secret_that_is_none_is_not_accepted(secret: str) -> None:
    assert not GENERIC.accepts_secret(secret)


@pytest.mark.parametrize("status", [199, 200, 204, 299, 300, 410, 500])
def test_only_a_2xx_acknowledges(status: int) -> None:
    assert GENERIC.acknowledged(status, b"") is (200 <= status < 300)


TEXTS = st.text(max_size=20)
AMOUNTS = st.integers(0, 10**12)


@given(
    st.builds(
        Charge,
        id=TEXTS,
        amount_minor=AMOUNTS,
        currency=st.sampled_from(["EUR", "JPY"]),
        reference=st.none() | TEXTS,
        customer=st.none() | TEXTS,
        metadata=st.dictionaries(TEXTS, TEXTS, max_size=2),
        created_s=st.floats(0, 1e9),
        status=st.sampled_from(Status),
        captured_minor=AMOUNTS,
        refunded_minor=AMOUNTS,
        decline_code=st.none() | TEXTS,
    )
)
def test_a_charge_is_written_alone_as_it_is_in_a_list(charge: Charge) -> None:
    alone = GENERIC.answer(ChargeShown(charge))
    listed = GENERIC.answer(ChargesListed((charge,)))

    assert b'{"object":"list","data":[%s]}' % alone.body == listed.body


@given(st.integers(0, 400 * 366 * 86_400))
@example(59 * 86_400)  # 1 March 2026
@example((2 * 365 + 59) * 86_400)  # 29 February 2028
def test_an_instant_is_written_as_the_calendar_says(virtual_s: int) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=virtual_s)

    assert instant(virtual_s) == moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("has_c", [True, False])
def test_json_is_written_alike_with_and_without_c(
    monkeypatch: pytest.MonkeyPatch,
    has_c: bool,  # noqa: FBT001
) -> None:
    if not has_c:
        monkeypatch.setattr(json.encoder, "c_make_encoder", None)

    assert encoder()({"a": ["é\ud800", 1, None, True], "b": {}}) == (
        '{"a":["\\u00e9\\ud800",1,null,true],"b":{}}'
    )
