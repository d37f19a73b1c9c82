"""A walk through every route of a surface, in an order in which each is answered by a 2xx.

What follows is chance; that a route works at all is not left to it.
"""

from random import Random
from typing import Final

from simulator.core.messages import HttpRequest
from tests.fuzz import templates
from tests.fuzz.templates import NOBODY, SHOP, Route
from tests.fuzz.written import Pairs, form_request, json_request

Walk = list[tuple[Route, HttpRequest]]
_SHOP: Final = {"authorization": f"Bearer {SHOP}"}
_PICK: Final = Random(0)


def generic() -> Walk:
    charge = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1", "capture": False}
    steps: list[tuple[str, str, str, dict[str, object]]] = [
        ("POST", "charges", "", charge),
        ("POST", "charges/*/capture", "ch_1", {"amount_minor": 400}),
        ("POST", "charges/*/refunds", "ch_1", {"amount_minor": 1}),
        ("POST", "charges", "", charge),
        ("POST", "charges/*/cancel", "ch_2", {}),
        ("GET", "charges", "", {}),
        ("GET", "charges/*", "ch_1", {}),
        ("GET", "events", "", {}),
        ("GET", "events/*", "evt_1", {}),
        ("POST", "events/*/resend", "evt_1", {}),
    ]
    return [
        ((method, shape), _json(method, f"/v1/{shape.replace('*', id_)}", fields, f"walk-{number}"))
        for number, (method, shape, id_, fields) in enumerate(steps)
    ]


_INTENT: Final[Pairs] = [
    ("amount", "500"),
    ("currency", "usd"),
    ("payment_method", "pm_card_visa"),
    ("metadata[order_id]", "ord-1"),
]


def stripe() -> Walk:
    paid: Pairs = [*_INTENT, ("confirm", "true"), ("capture_method", "manual")]
    card: Pairs = [("type", "card"), ("card[token]", "tok_visa")]
    hook: Pairs = [("url", NOBODY), ("enabled_events[]", "*")]
    steps: list[tuple[str, str, str, Pairs]] = [
        ("POST", "customers", "", [("email", "ada@shop.test")]),
        ("POST", "customers/*", "cus_1", [("name", "Ada")]),
        ("GET", "customers", "", []),
        ("GET", "customers/*", "cus_1", []),
        ("POST", "payment_methods", "", card),
        ("POST", "payment_methods/*/attach", "pm_1", [("customer", "cus_1")]),
        ("GET", "customers/*/payment_methods", "cus_1", []),
        ("GET", "payment_methods", "", [("customer", "cus_1")]),
        ("GET", "payment_methods/*", "pm_1", []),
        ("POST", "payment_methods/*/detach", "pm_1", []),
        ("DELETE", "customers/*", "cus_1", []),
        ("POST", "webhook_endpoints", "", hook),
        ("GET", "webhook_endpoints", "", []),
        ("GET", "webhook_endpoints/*", "we_1", []),
        ("POST", "payment_intents", "", paid),
        ("POST", "payment_intents/*/capture", "pi_1", [("amount_to_capture", "400")]),
        ("GET", "charges", "", [("payment_intent", "pi_1")]),
        ("GET", "charges/*", "ch_1", []),
        ("POST", "refunds", "", [("payment_intent", "pi_1"), ("amount", "1")]),
        ("GET", "refunds", "", []),
        ("GET", "refunds/*", "re_1", []),
        ("POST", "payment_intents", "", _INTENT),
        ("POST", "payment_intents/*", "pi_2", [("description", "two")]),
        ("POST", "payment_intents/*/confirm", "pi_2", []),
        ("POST", "payment_intents", "", _INTENT),
        ("POST", "payment_intents/*/cancel", "pi_3", []),
        ("GET", "payment_intents", "", []),
        ("GET", "payment_intents/*", "pi_1", [("expand[]", "latest_charge")]),
        ("GET", "events", "", [("type", "charge.succeeded")]),
        ("GET", "events/*", "evt_1", []),
        ("DELETE", "webhook_endpoints/*", "we_1", []),
    ]
    return [
        ((method, shape), _form(method, f"/v1/{shape.replace('*', id_)}", fields, f"walk-{number}"))
        for number, (method, shape, id_, fields) in enumerate(steps)
    ]


PAY: Final[Route] = ("", "somebody pays meanwhile, and is held")


def control() -> Walk:
    """Hold a payment and let it go, by name and with all others; then all that is left."""
    first: list[Route] = [
        ("POST", "/_sim/endpoints"),
        ("POST", "/_sim/endpoints/rotate"),
        ("POST", "/_sim/held"),
        PAY,
        ("POST", "/_sim/held/{call}/release"),
        ("GET", "/_sim/events"),
    ]
    last: list[Route] = [
        ("DELETE", "/_sim/endpoints"),
        ("DELETE", "/_sim/plan"),
        ("POST", "/_sim/reset"),
    ]
    between = [route for route in templates.CONTROL if route not in (*first, *last)]
    return [(route, _asked(route)) for route in (*first, *between, *last)]


def _asked(route: Route) -> HttpRequest:
    method, path = route
    path = path.replace("{event}", "evt_1").replace("{call}", "call-1")
    fixed: dict[Route, dict[str, object]] = {
        ("POST", "/_sim/endpoints"): {"url": NOBODY, "secret": templates.SECRET},
        ("POST", "/_sim/endpoints/rotate"): {"url": NOBODY, "secret": templates.SECRET},
        ("POST", "/_sim/plan"): {"rules": []},
    }
    if route not in fixed:
        asked = templates.control(route, _PICK)
        return HttpRequest(method, path, (), asked.headers, asked.body)
    return json_request(method, path, {}, fixed[route])


def _json(method: str, path: str, fields: dict[str, object], key: str) -> HttpRequest:
    if method == "GET":
        return HttpRequest(method, path, (), _SHOP)
    return json_request(method, path, {**_SHOP, "idempotency-key": key}, fields)


def _form(method: str, path: str, fields: Pairs, key: str) -> HttpRequest:
    if method == "POST":
        return form_request(method, path, {**_SHOP, "idempotency-key": key}, fields)
    return HttpRequest(method, path, tuple(fields), _SHOP)
