"""Whatever is sent, the answer is a 4xx in Stripe's shape, and nothing is charged."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.calls import Operation, Unreadable
from simulator.core.journal import Journal
from simulator.core.messages import HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.dialects.stripe import Stripe
from simulator.dialects.stripe.forms import nested
from simulator.dialects.stripe.routes import ROUTES

FORM = "application/x-www-form-urlencoded"
PAY = b"amount=500&currency=usd&confirm=true&payment_method=pm_card_visa"


def send(
    body: bytes = b"",
    method: str = "POST",
    path: str = "/v1/payment_intents",
    query: tuple[tuple[str, str], ...] = (),
    **headers: str,
) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"authorization": "Bearer sk_test_shop", "content-type": FORM, **named}
    provider = Provider(Stripe(), sink=Journal())
    [action] = provider.receive(HttpRequest(method, path, query, sent, body), 0.0)
    assert isinstance(action, Reply)
    assert action.reply.status < 400 or not len(provider.ledger)
    return action.reply.status, json.loads(action.reply.body)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe=1",
        b"%FF%FE=1",
        b"amount=%C3%28",
        b"[a]=1",
        b"a[b=1",
        b"a]=1",
        b"a[b]c=1",
        b"=1",
        b"a=1&a[b]=2",
        b"a[b]=2&a=1",
        b"a[b]=1&a[b][c]=2",
        b"a" + b"[b]" * 1_000 + b"=1",
        b"a" + b"[]" * 1_000 + b"=1",
        b"&".join(b"a%d=1" % n for n in range(1_001)),
    ],
)
def test_a_malformed_form_is_refused(body: bytes) -> None:
    status, data = send(body)

    assert status == 400
    assert data["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "field,code,param",
    [
        ("amount=9" + "9" * 5_000, "parameter_invalid_integer", "amount"),
        ("amount=5.0", "parameter_invalid_integer", "amount"),
        ("amount=-5", "parameter_invalid_integer", "amount"),
        ("amount=0", "parameter_invalid_integer", "amount"),
        ("amount=%D9%A5%D9%A0%D9%A0", "parameter_invalid_integer", "amount"),
        ("amount=", "parameter_invalid_integer", "amount"),
        ("amount=100000000", "amount_too_large", "amount"),
        ("amount[]=500", "parameter_invalid_integer", "amount"),
        ("amount[a]=500", "parameter_invalid_integer", "amount"),
        ("currency=", None, "currency"),
        ("currency[]=usd", None, "currency"),
        ("currency=%F0%9F%92%B8%F0%9F%92%B8%F0%9F%92%B8", None, "currency"),
        ("confirm=yes", None, "confirm"),
        ("confirm[]=true", None, "confirm"),
        ("customer=", "parameter_invalid_empty", "customer"),
        ("customer[id]=cus_1", None, "customer"),
        ("description=" + "x" * 5_001, None, "description"),
        ("metadata=order", None, "metadata"),
        ("metadata[a][b]=1", None, "metadata[a]"),
        ("metadata[a]=" + "x" * 501, None, "metadata[a]"),
        ("metadata[" + "x" * 41 + "]=1", None, "metadata[" + "x" * 40 + "]"),
        ("&".join(f"metadata[{n}]=1" for n in range(51)), None, "metadata"),
        ("expand=customer", None, "expand"),
        ("expand[x]=customer", None, "expand"),
        ("expand[][x]=customer", None, "expand[0]"),
        ("capture_method=later", None, "capture_method"),
        ("capture_method[]=manual", None, "capture_method"),
        ("shipping=here", None, "shipping"),
        ("automatic_payment_methods[on]=1", "parameter_unknown", "automatic_payment_methods[on]"),
        ("automatic_payment_methods=1", None, "automatic_payment_methods"),
        ("amonut=500", "parameter_unknown", "amonut"),
        ("%00=1", "parameter_unknown", "\x00"),
    ],
)
def test_a_wrong_parameter_is_named(field: str, code: str | None, param: str) -> None:
    name = field.partition("=")[0].partition("[")[0].encode()
    rest = [each for each in PAY.split(b"&") if each.partition(b"=")[0] != name]
    status, data = send(b"&".join((*rest, field.encode())))

    assert status == 400
    assert data["error"].get("code") == code
    assert data["error"]["param"] == param


@pytest.mark.parametrize("missing", ["amount", "currency"])
def test_a_missing_parameter_is_named(missing: str) -> None:
    left = b"&".join(each for each in PAY.split(b"&") if not each.startswith(missing.encode()))

    status, data = send(left)

    assert (status, data["error"]["code"]) == (400, "parameter_missing")
    assert data["error"]["param"] == missing


@pytest.mark.parametrize(
    "query,param",
    [
        ((("limit", "0"),), "limit"),
        ((("limit", "101"),), "limit"),
        ((("limit", "many"),), "limit"),
        ((("created[since]", "1"),), "created[since]"),
        ((("created[gte]", "x"),), "created[gte]"),
        ((("created", "x"),), "created"),
        ((("starting_after", "a"), ("ending_before", "b")), "ending_before"),
        ((("colour", "red"),), "colour"),
    ],
)
def test_a_wrong_filter_is_named(query: Any, param: str) -> None:
    status, data = send(method="GET", query=query)

    assert (status, data["error"]["param"]) == (400, param)


@pytest.mark.parametrize(
    "method,path",
    [
        ("POST", "/v1/subscriptions"),
        ("PUT", "/v1/payment_intents"),
        ("DELETE", "/v1/payment_intents/pi_1"),
        ("GET", "/v1/payment_intents/"),
        ("GET", "/v1/payment_intents/pi_1/confirm/again"),
        ("GET", "/"),
        ("GET", ""),
        ("BREW", "/v1/payment_intents"),
        ("GET", "/v1/" + "\udcff" * 3),
    ],
)
def test_an_unknown_place_is_not_found(method: str, path: str) -> None:
    status, data = send(method=method, path=path)

    assert (status, data["error"]["type"]) == (404, "invalid_request_error")


def test_json_is_not_understood() -> None:
    status, data = send(b'{"amount": 500}', content_type="application/json")

    assert status == 400
    assert FORM in data["error"]["message"]


def test_an_id_may_be_anything_and_is_nowhere() -> None:
    for named in ("x" * 10_000, "💸", "\udcff", "..", "%00"):
        status, data = send(method="GET", path=f"/v1/charges/{named}")
        assert (status, data["error"]["code"]) == (404, "resource_missing")


def test_a_form_says_the_same_in_several_ways() -> None:
    assert nested([("a[]", "x"), ("a[]", "y")]) == {"a": {"0": "x", "1": "y"}}
    assert nested([("a[0]", "x"), ("a[1]", "y")]) == {"a": {"0": "x", "1": "y"}}
    assert nested([("a", "x"), ("a", "y")]) == {"a": "y"}
    items = [("a[][id]", "1"), ("a[][n]", "x"), ("a[][id]", "2")]
    assert nested(items) == {"a": {"0": {"id": "1", "n": "x"}, "1": {"id": "2"}}}


NAMES = st.sampled_from(
    [
        "amount", "currency", "confirm", "payment_method", "metadata[order_id]", "metadata",
        "metadata[]", "expand[]", "payment_method_data[card][number]", "payment_method_data[type]",
        "capture_method", "customer", "limit", "created[gt]", "shipping[a][b]", "enabled_events[]",
        "url", "client_secret", "charge", "type", "card[token]", "amount[]", "key",
    ]
)  # fmt: skip
VALUES = st.text(max_size=8) | st.sampled_from(
    ["500", "usd", "true", "manual", "pm_card_visa", "card", "tok_visa", "pi_1", "ch_1", ""]
)
PAIRS = st.lists(st.tuples(NAMES | st.text(max_size=6), VALUES), max_size=6)
ROWS = sorted(ROUTES)


@given(row=st.sampled_from(ROWS), named=st.text(min_size=1, max_size=6), pairs=PAIRS)
def test_no_request_is_too_strange_to_be_answered(
    row: tuple[str, str], named: str, pairs: list[tuple[str, str]]
) -> None:
    method, shape = row
    path = "/v1/" + shape.replace("*", named)

    status, data = send(method=method, path=path, query=tuple(pairs))

    assert 200 <= status < 500
    assert status < 300 or data["error"]["type"]


@given(body=st.binary(max_size=200))
def test_no_body_is_too_strange_to_be_read(body: bytes) -> None:
    request = HttpRequest(
        "POST", "/v1/payment_intents", (), {"authorization": "Bearer sk_test_shop"}, body
    )

    assert isinstance(Stripe().read(request), Operation | Unreadable)
