"""Customers over real sockets: what they send, what they do next, and what they write down."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import ClientSession, DummyCookieJar, web

from onecharge.history.recorder import Recorder
from onecharge.history.records import Record
from onecharge.press import Order, Press
from onecharge.scenario_file import Customer
from onecharge.service_file import ServiceFile
from onecharge.world.customers import Customers
from onecharge.world.orders import of_tenant, orders_of

WITHIN_S = 60.0

BASE: dict[str, Any] = {
    "service": {"name": "shop", "command": ["none"]},
    "provider": {"dialect": "stripe"},
    "charge": {
        "path": "/charges",
        "headers": {"Idempotency-Key": "{key}"},
        "json": {"amount": "{amount_minor}", "customer": "{customer}", "order": "{order}"},
    },
    "tenants": {"north": "tok_n", "south": "tok_s"},
    "capabilities": {"webhooks": False, "read_back": False, "effects": False},
}

LOGIN: list[dict[str, Any]] = [
    {"method": "GET", "path": "/login", "capture_text": {"csrf": 'csrf="(\\w+)"'}},
    {
        "path": "/login",
        "form": {"csrf": "{csrf}", "user": "{customer}"},
        "expect": [303],
        "capture_headers": {"trace": "X-Trace"},
        "capture_cookies": {"seen": "seen"},
    },
]

Answer = Callable[[web.BaseRequest], Any]


class Shop:
    """A service whose every answer a test decides, and what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[web.BaseRequest] = []
        self.bodies: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.bodies.append(await request.text())
        self.asked.append(request)
        said = self.answers[f"{request.method} {request.path}"]
        said = said.pop(0) if isinstance(said, list) else said
        if callable(said):
            said = await said(request)
        if isinstance(said, web.StreamResponse):
            return said
        status, body = said
        return web.json_response(body, status=status)

    def paths(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.asked]


class Street:
    """A shop, its customers, and the history of what happens between them."""

    def __init__(self, url: str, session: ClientSession, shop: Shop) -> None:
        self.url = url
        self.shop = shop
        self.recorder = Recorder()
        self._session = session

    def customers(self, **tables: Any) -> tuple[Customers, Order]:
        file = ServiceFile.model_validate({**BASE, **tables})
        customers = Customers(
            file, [self.url], self.recorder, self._session, provider_url=f"{self.url}/provider"
        )
        return customers, orders_of(file, "street", 1, seed=1)[0]

    def told(self) -> list[tuple[str, str]]:
        return [
            (record.kind, record.what if record.kind == "invoke" else _outcome(record))
            for record in self.recorder.records
        ]


def _outcome(record: Record) -> str:
    return str(record.value.get("outcome", record.what))


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    shop = Shop()
    runner = web.ServerRunner(web.Server(shop))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with ClientSession(cookie_jar=DummyCookieJar()) as session:
        yield Street(f"http://127.0.0.1:{runner.addresses[0][1]}", session, shop)
    await runner.cleanup()


def with_charge(**fields: Any) -> dict[str, Any]:
    return {"charge": {**BASE["charge"], **fields}}


# Preparing.


def logged_in(headers: dict[str, str] | None = None) -> web.Response:
    answer = web.Response(status=303, headers={"X-Trace": "t-1", **(headers or {})})
    answer.set_cookie("session", "s-1")
    answer.set_cookie("seen", "yes")
    return answer


async def form(_: web.BaseRequest) -> web.Response:
    page = web.Response(text='<input csrf="abc">')
    page.set_cookie("visit", "v-1")
    return page


async def test_a_customer_logs_in_once_and_goes_on_with_what_it_was_given(street: Street) -> None:
    async def login(_: web.BaseRequest) -> web.Response:
        return logged_in()

    street.shop.answers = {
        "GET /login": form,
        "POST /login": login,
        "POST /charges": (201, {"status": "succeeded", "id": "c-1"}),
    }
    charge = {"headers": {"X-Trace": "{trace}", "X-Seen": "{seen}"}}
    customers, order = street.customers(prepare=LOGIN, **with_charge(**charge))

    await customers.pay(order, Customer(presses=2))

    assert street.shop.paths() == ["GET /login", "POST /login", "POST /charges", "POST /charges"]
    assert street.shop.bodies[1] == f"csrf=abc&user={order.customer}"
    assert street.shop.asked[1].headers["Cookie"] == "visit=v-1"
    paying = street.shop.asked[2].headers
    assert paying["Cookie"] == "visit=v-1; session=s-1; seen=yes"
    assert (paying["X-Trace"], paying["X-Seen"]) == ("t-1", "yes")
    steps = [r for r in street.recorder.records if r.what == "prepare"]
    assert [(r.kind, r.value["step"]) for r in steps] == [
        ("invoke", 1),
        ("ok", 1),
        ("invoke", 2),
        ("ok", 2),
    ]


@pytest.mark.parametrize(
    "answer, trouble",
    [
        (web.HTTPForbidden, "was answered HTTP 403, expected 303; the answer began: '403: Forb"),
        (web.HTTPSeeOther, "was answered without what 'trace' is captured from: X-Trace"),
    ],
)
async def test_a_step_that_fails_says_which_and_nothing_is_charged(
    street: Street, answer: type[web.HTTPException], trouble: str
) -> None:
    async def login(_: web.BaseRequest) -> web.Response:
        refused = answer("/") if answer is web.HTTPSeeOther else answer()
        return web.Response(status=refused.status, text=refused.text)

    street.shop.answers = {"GET /login": form, "POST /login": login}
    customers, order = street.customers(prepare=LOGIN)

    assert await customers.press(order, WITHIN_S) is None

    assert order.trouble is not None
    assert order.trouble.startswith(f"[[prepare]] 2: POST /login {trouble}")
    last = street.recorder.records[-1]
    assert (last.kind, last.what) == ("unknown", "prepare")
    assert not order.settled


async def test_who_could_not_log_in_tries_again_and_pays(street: Street) -> None:
    async def login(_: web.BaseRequest) -> web.Response:
        return logged_in()

    street.shop.answers = {
        "GET /login": form,
        "POST /login": [(503, {}), login],
        "POST /charges": (201, {"status": "succeeded", "id": "c-1"}),
    }
    customers, order = street.customers(prepare=LOGIN)

    await customers.pay(order, Customer(pause_ms=0))

    assert (order.outcome, order.trouble) == ("ok", None)


async def test_who_is_logged_out_logs_in_again_and_may_ask_again(street: Street) -> None:
    async def login(_: web.BaseRequest) -> web.Response:
        return logged_in()

    street.shop.answers = {
        "GET /login": form,
        "POST /login": login,
        "POST /charges": [(401, {}), (201, {"status": "succeeded", "id": "c-1"})],
    }
    customers, order = street.customers(prepare=LOGIN)

    await customers.pay(order, Customer(pause_ms=0))

    assert street.shop.paths().count("POST /login") == 2
    assert [word for kind, word in street.told() if kind != "invoke"][-1] == "ok"
    assert ("fail", "retry_later") in street.told()


async def test_headers_of_a_command_go_with_every_request(street: Street) -> None:
    street.shop.answers = {"POST /charges": (201, {"status": "succeeded"})}
    program = "import sys, json; print(json.dumps({'X-Sign': sys.argv[1]}))"
    customers, order = street.customers(
        headers_command=["{python}", "-c", program.replace("{", "{ "), "{order}"]
    )

    await customers.press(order, WITHIN_S)

    assert street.shop.asked[0].headers["X-Sign"] == order.reference


@pytest.mark.parametrize(
    "program, trouble",
    [
        ("print('no')", "headers_command: expected a JSON object of texts, found 'no'"),
        ("raise SystemExit('bad key')", f"{sys.executable}: ended with code 1: bad key"),
    ],
)
async def test_a_command_that_prints_no_headers_is_named(
    street: Street, program: str, trouble: str
) -> None:
    customers, order = street.customers(headers_command=["{python}", "-c", program])

    assert await customers.press(order, WITHIN_S) is None

    assert trouble in str(order.trouble)


# After an answer that reads as pending.


async def test_a_pending_charge_is_asked_for_until_it_is_not(street: Street) -> None:
    street.shop.answers = {
        "POST /charges": (202, {"id": "c-1"}),
        "GET /charges/c-1": [
            (404, {}),
            (200, {"status": "pending"}),
            (200, {"status": "succeeded", "id": "c-1"}),
        ],
    }
    poll = {"path": "/charges/{charge}", "every_ms": 1}
    customers, order = street.customers(**with_charge(poll=poll))

    assert await customers.press(order, WITHIN_S) == "pending"

    assert order.outcome == "ok"
    assert street.told() == [
        ("invoke", "charge"),
        ("ok", "pending"),
        ("invoke", "read"),
        ("unknown", "unknown"),
        ("invoke", "read"),
        ("ok", "pending"),
        ("invoke", "read"),
        ("ok", "ok"),
    ]


async def test_a_status_page_that_knows_nothing_refuses_nothing(street: Street) -> None:
    street.shop.answers = {"POST /charges": (202, {"id": "c-1"}), "GET /charges/c-1": (404, {})}
    poll = {"path": "/charges/{charge}", "every_ms": 1, "within_s": 0.01}
    customers, order = street.customers(**with_charge(poll=poll))

    await customers.press(order, WITHIN_S)

    assert not order.settled


async def test_what_the_answer_did_not_tell_cannot_be_asked_for(street: Street) -> None:
    street.shop.answers = {"POST /charges": (202, {})}
    customers, order = street.customers(**with_charge(poll={"path": "/charges/{charge}"}))

    await customers.press(order, WITHIN_S)

    assert street.shop.paths() == ["POST /charges"]


BROWSER: dict[str, Any] = {
    "browser": [
        {
            "path": "/intents/{intent}/confirm",
            "form": {"client_secret": "{secret}", "key": "pk_test_onecharge"},
        }
    ]
}
INTENT = {"capture": {"intent": "$.intent", "secret": "$.secret"}}


async def test_the_browser_confirms_at_the_provider_and_shows_it_nothing_else(
    street: Street,
) -> None:
    street.shop.answers = {
        "POST /charges": (202, {"id": "c-1", "intent": "pi_1", "secret": "s_1"}),
        "POST /provider/intents/pi_1/confirm": (200, {}),
        "GET /charges/c-1": (200, {"status": "succeeded"}),
    }
    poll = {"path": "/charges/{charge}", "every_ms": 1}
    customers, order = street.customers(**with_charge(answer=INTENT, poll=poll), **BROWSER)
    order.headers, order.cookies = {"X-Sign": "s"}, {"session": "s"}

    await customers.press(order, WITHIN_S)

    confirming = street.shop.asked[1]
    assert street.shop.bodies[1] == "client_secret=s_1&key=pk_test_onecharge"
    assert not {"X-Sign", "Cookie"} & set(confirming.headers)
    assert order.outcome == "ok"
    assert ("ok", "browser") in street.told()


async def test_a_card_that_is_declined_is_shown_again_with_the_next_press(street: Street) -> None:
    street.shop.answers = {
        "POST /charges": [
            (202, {"intent": "pi_1", "secret": "s_1"}),
            (202, {"intent": "pi_1", "secret": "s_1"}),
            (200, {"status": "succeeded"}),
        ],
        "POST /provider/intents/pi_1/confirm": [(402, {}), (200, {})],
    }
    customers, order = street.customers(**with_charge(answer=INTENT), **BROWSER)

    await customers.pay(order, Customer(pause_ms=0))

    assert [word for word in street.told() if word[1] == "browser"] == [
        ("invoke", "browser"),
        ("fail", "browser"),
        ("invoke", "browser"),
        ("ok", "browser"),
    ]
    assert order.outcome == "ok"


# Refunds and captures.

CHARGED = (201, {"status": "succeeded", "id": "c-1"})
REFUND = {
    "refund": {
        "path": "/charges/{charge}/refunds",
        "headers": {"Idempotency-Key": "{key}"},
        "json": {"amount_minor": "{amount_minor}", "shown": "{amount_decimal}"},
        "answer": {"status": "$.state", "succeeded": ["refunded"]},
    }
}


async def test_a_refund_is_an_operation_of_its_own_and_retried_under_its_key(
    street: Street,
) -> None:
    street.shop.answers = {
        "POST /charges": CHARGED,
        "POST /charges/c-1/refunds": [(500, {}), (201, {"state": "refunded", "id": "r-1"})],
    }
    customers, order = street.customers(**REFUND)
    await customers.press(order, WITHIN_S)

    heard = [
        await customers.refund(order, WITHIN_S, key="refund-1", amount_minor=500) for _ in range(2)
    ]

    assert heard == ["unknown", "ok"]
    [operation] = order.operations
    assert (operation.settled, operation.id, operation.amount_minor) == (True, "r-1", 500)
    assert street.shop.bodies[1] == '{"amount_minor": 500, "shown": "5.00"}'
    assert {r.headers["Idempotency-Key"] for r in street.shop.asked[1:]} == {"refund-1"}
    asked = [r for r in street.recorder.records if r.what == "refund"]
    assert [(r.key, r.value["attempt"], r.value["amount_minor"]) for r in asked] == [
        ("refund-1", 1, 500),
        ("refund-1", 2, 500),
    ]
    assert (order.outcome, order.charge) == ("ok", "c-1")


async def test_what_was_not_charged_cannot_be_refunded(street: Street) -> None:
    customers, order = street.customers(**REFUND)
    assert await customers.refund(order, WITHIN_S, key="refund-1") is None
    assert street.recorder.records == []


async def test_a_capture_asks_for_all_unless_told_otherwise(street: Street) -> None:
    street.shop.answers = {
        "POST /charges": CHARGED,
        "POST /charges/c-1/capture": (200, {"status": "succeeded"}),
    }
    capture = {"path": "/charges/{charge}/capture", "json": {"amount": "{amount_minor}"}}
    customers, order = street.customers(capture=capture)
    await customers.press(order, WITHIN_S)

    assert await customers.capture(order, WITHIN_S, key="capture-1") == "ok"

    assert street.shop.bodies[1] == f'{{"amount": {order.amount_minor}}}'


# Pressing otherwise.


async def test_a_mismatching_press_says_what_it_sent_and_settles_nothing(street: Street) -> None:
    street.shop.answers = {"POST /charges": (422, {})}
    customers, order = street.customers()

    assert await customers.press(order, WITHIN_S, Press("other_amount")) == "mismatch"

    asked = street.recorder.records[0]
    assert asked.value["variant"] == "other_amount"
    assert asked.value["amount_minor"] != order.amount_minor
    assert f'"amount": {asked.value["amount_minor"]}' in street.shop.bodies[0]
    assert asked.key == order.key
    assert order.outcome is None


async def test_a_jitter_that_is_refused_settles_nothing_and_a_success_does(street: Street) -> None:
    street.shop.answers = {"POST /charges": [(422, {}), CHARGED]}
    customers, order = street.customers()

    await customers.press(order, WITHIN_S, Press("json_jitter"))
    assert not order.settled
    await customers.press(order, WITHIN_S, Press("header_jitter"))
    assert order.settled


async def test_another_operation_carries_the_key_of_the_charge(street: Street) -> None:
    street.shop.answers = {"POST /charges": CHARGED, "POST /charges/c-1/refunds": (422, {})}
    customers, order = street.customers(**REFUND)
    await customers.press(order, WITHIN_S)

    assert await customers.press(order, WITHIN_S, Press("other_operation")) == "mismatch"

    assert street.shop.asked[1].headers["Idempotency-Key"] == order.key
    asked = street.recorder.records[2]
    assert (asked.what, asked.value["variant"]) == ("refund", "other_operation")
    assert order.operations == []


async def test_another_tenant_pays_for_an_order_of_its_own_under_the_same_key(
    street: Street,
) -> None:
    street.shop.answers = {"POST /charges": CHARGED}
    customers, order = street.customers()
    other = of_tenant(order, 2, "south", "tok_s")

    await customers.press(other, WITHIN_S, Press("other_tenant", key=order.key))

    asked = street.recorder.records[0]
    assert (asked.order, asked.tenant, asked.key) == (other.reference, "south", order.key)
    assert other.settled


async def test_another_tenant_who_looks_and_asks_for_money_changes_nothing_for_the_owner(
    street: Street,
) -> None:
    street.shop.answers = {
        "POST /charges": CHARGED,
        "GET /orders": [(200, {"data": []}), (200, {"data": [{"state": "succeeded"}]})],
        "POST /charges/c-1/refunds": (404, {}),
    }
    read = {
        "path": "/orders?ref={order}",
        "headers": {"Authorization": "Bearer {token}"},
        "status": "$.data[0].state",
    }
    customers, order = street.customers(read=read, **REFUND)
    await customers.press(order, WITHIN_S)

    shut_out = await customers.pry(order, WITHIN_S, "south", "tok_s")
    let_in = await customers.pry(order, WITHIN_S, "south", "tok_s")

    assert (shut_out, let_in) == (["unknown", "invalid"], ["ok", "invalid"])
    assert street.shop.asked[1].headers["Authorization"] == "Bearer tok_s"
    asked = [r for r in street.recorder.records if r.value.get("variant") == "other_tenant"]
    assert {(r.order, r.tenant) for r in asked} == {(order.reference, "south")}
    assert order.operations == []
    assert order.settled


@pytest.mark.parametrize("key", ["", "clé-🔑", "{order}", "k" * 2000])
async def test_a_key_at_the_edge_is_sent_as_it_is(street: Street, key: str) -> None:
    street.shop.answers = {"POST /charges": (400, {})}
    customers, order = street.customers()

    await customers.press(order, WITHIN_S, Press(key=key))

    assert street.shop.asked[0].headers["Idempotency-Key"] == key
    assert street.recorder.records[0].key == key


async def test_who_leaves_closes_the_connection_and_knows_nothing(street: Street) -> None:
    arrived, gone, leave = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def never(request: web.BaseRequest) -> web.Response:
        transport = request.transport
        arrived.set()
        while transport is not None and not transport.is_closing():
            await asyncio.sleep(0.001)
        gone.set()
        return web.Response()

    street.shop.answers = {"POST /charges": never}
    customers, order = street.customers()

    pressing = asyncio.create_task(customers.press(order, WITHIN_S, leave=leave))
    await arrived.wait()
    leave.set()

    assert await pressing == "unknown"
    await gone.wait()
    assert street.recorder.records[-1].value["error"] == "the customer closed the connection"


async def test_who_is_answered_first_has_not_left(street: Street) -> None:
    street.shop.answers = {"POST /charges": CHARGED}
    customers, order = street.customers()
    assert await customers.press(order, WITHIN_S, leave=asyncio.Event()) == "ok"


async def test_a_late_press_leaves_after_the_first_was_answered(street: Street) -> None:
    street.shop.answers = {"POST /charges": [CHARGED, CHARGED]}
    customers, order = street.customers()

    assert await customers.press_late(order, WITHIN_S, after_s=0) == ("ok", "ok")

    assert [kind for kind, _ in street.told()] == ["invoke", "ok", "invoke", "ok"]


async def test_a_late_press_may_leave_while_the_first_is_under_way(street: Street) -> None:
    second = asyncio.Event()

    async def waits(_: web.BaseRequest) -> web.Response:
        await second.wait()
        return web.json_response({"status": "succeeded"})

    async def comes(_: web.BaseRequest) -> web.Response:
        second.set()
        return web.json_response({}, status=409)

    street.shop.answers = {"POST /charges": [waits, comes]}
    customers, order = street.customers()

    told = await customers.press_late(order, WITHIN_S, after_s=0.02, since="start")

    assert told == ("ok", "in_flight")
