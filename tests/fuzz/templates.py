"""Good requests to every route of everything that is fuzzed: what the corpus begins with.

Rule 1: a route is a row, and each row is a table of the surface itself: one that is missing here
        is a ``KeyError`` and not a silence.
Rule 2: ids are small numbers, so that half of them name what is there.
"""

import hashlib
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from simulator.control.routes import ROUTES as CONTROL_ROUTES
from simulator.core.messages import HttpRequest
from simulator.dialects.generic import ROUTES as GENERIC_ROUTES
from simulator.dialects.stripe.routes import ROUTES as STRIPE_ROUTES
from simulator.dialects.stripe.webhooks import EVENT_TYPES
from tests.fuzz.written import Pairs, form_request, json_request

Route = tuple[str, str]
"""A method, and a path whose ids are stars."""

FEW_AND_MANY: Final = (12, 100)
SHOP, OTHER = "sk_test_shop", "sk_test_other"
NOBODY: Final = "http://127.0.0.1:9/"  # nobody else is to be bothered


def account(pick: Random) -> str:
    return OTHER if pick.random() < 0.1 else SHOP


def key(pick: Random) -> dict[str, str]:
    number = pick.randint(1, 400)
    return {} if pick.random() < 0.1 else {"idempotency-key": f"key-{number}"}


def an_id(pick: Random, prefix: str) -> str:
    return f"{prefix}_{pick.randint(1, pick.choice(FEW_AND_MANY))}"


# The generic dialect.


def _charge(pick: Random) -> dict[str, Any]:
    return {
        "amount_minor": pick.choice((1, 500, 999)),
        "currency": "EUR",
        "reference": f"ord-{pick.randint(1, 200)}",
        "customer": pick.choice((None, "cus-1")),
        "capture": pick.random() < 0.6,
        "metadata": {"a": "b", "note": "é"} if pick.random() < 0.3 else {},
    }


def _part(pick: Random) -> dict[str, Any]:
    return pick.choice(({}, {"amount_minor": 1}, {"amount_minor": 500}))


GENERIC_FIELDS: Final[Mapping[Route, Callable[[Random], dict[str, Any]]]] = {
    ("POST", "charges"): _charge,
    ("GET", "charges"): lambda pick: {"reference": f"ord-{pick.randint(1, 200)}"},
    ("GET", "charges/*"): lambda _: {},
    ("POST", "charges/*/capture"): _part,
    ("POST", "charges/*/cancel"): lambda _: {},
    ("POST", "charges/*/refunds"): _part,
    ("GET", "events"): lambda pick: pick.choice(
        ({}, {"delivered": "true"}, {"delivered": "false"})
    ),
    ("GET", "events/*"): lambda _: {},
    ("POST", "events/*/resend"): lambda _: {},
}
GENERIC: Final = tuple((method, path) for path, by in GENERIC_ROUTES.items() for method in by)


def generic(route: Route, pick: Random) -> HttpRequest:
    method, shape = route
    fields = GENERIC_FIELDS[route](pick)
    path = "/v1/" + shape.replace("*", an_id(pick, "evt" if shape.startswith("events") else "ch"))
    headers = {"authorization": f"Bearer {account(pick)}", **key(pick)}
    if method == "GET":
        return HttpRequest(method, path, tuple(fields.items()), headers)
    return json_request(method, path, headers, fields)


# Stripe.

_STRIPE_IDS: Final = {
    "charges": "ch", "customers": "cus", "events": "evt", "payment_intents": "pi",
    "payment_methods": "pm", "refunds": "re", "webhook_endpoints": "we",
}  # fmt: skip
_CARDS: Final = (
    "pm_card_visa", "pm_card_visa", "pm_card_visa", "pm_card_chargeDeclined",
    "pm_usBankAccount_success", "pm_card_authenticationRequired",
)  # fmt: skip
_BILLING: Final[Pairs] = [
    ("billing_details[name]", "Ada Łovelace 🦉"),
    ("billing_details[address][city]", "Zürich"),
]
_CARD_DATA: Final[Pairs] = [
    ("type", "card"),
    ("card[number]", "4242 4242 4242 4242"),
    ("card[exp_month]", "12"),
    ("card[exp_year]", "2034"),
]


def _within(pairs: Pairs, name: str) -> Pairs:
    """Return fields as the fields of a hash: ``card[number]`` within ``x`` is x[card][number]."""
    inner = [(field.partition("["), value) for field, value in pairs]
    return [(f"{name}[{head}]{bracket}{rest}", value) for (head, bracket, rest), value in inner]


def _intent(pick: Random) -> Pairs:
    said = [
        ("amount", pick.choice(("50", "500", "99999999"))),
        ("currency", pick.choice(("usd", "eur"))),
        ("metadata[order_id]", f"ord-{pick.randint(1, 200)}"),
    ]
    if pick.random() < 0.7:
        said += [("confirm", "true")]
    if pick.random() < 0.6:
        said += [("capture_method", pick.choice(("manual", "manual", "automatic_async")))]
    if pick.random() < 0.2:
        said += [("customer", an_id(pick, "cus"))]
    if pick.random() < 0.3:
        return said + _within(_CARD_DATA + _BILLING, "payment_method_data")
    said += [("payment_method", pick.choice((*_CARDS, an_id(pick, "pm"))))]
    more: tuple[Pairs, ...] = (
        [],
        _TERMS,
        [("expand[]", "latest_charge"), ("expand[]", "customer")],
    )
    return said + pick.choice(more)


_TERMS: Final[Pairs] = [
    ("automatic_payment_methods[enabled]", "true"),
    ("automatic_payment_methods[allow_redirects]", "never"),
    ("shipping[address][line1]", "1 Rue de l'Été"),
    ("shipping[name]", "Ada"),
    ("payment_method_types[]", "card"),
    ("statement_descriptor_suffix", "SHOP"),
    ("transfer_data[destination]", "acct_1"),
    ("return_url", "https://shop.test/"),
]


def _page(pick: Random, *filters: tuple[str, str]) -> Pairs:
    said: Pairs = [("limit", pick.choice(("1", "3", "100")))] if pick.random() < 0.5 else []
    if filters and pick.random() < 0.5:
        said.append(pick.choice(filters))
    if pick.random() < 0.2:
        said.append((pick.choice(("created[gte]", "created[lt]", "created")), "1767225600"))
    return said


def _customer(pick: Random) -> Pairs:
    return [
        ("email", f"c{pick.randint(1, 9)}@shop.test"),
        ("name", "Ада 🦉"),
        ("address[city]", "Köln"),
        ("metadata[vip]", pick.choice(("yes", ""))),
        ("preferred_locales[0]", "de"),
        ("invoice_settings[footer]", "danke"),
    ][: pick.randint(1, 6)]


STRIPE_FIELDS: Final[Mapping[Route, Callable[[Random], Pairs]]] = {
    ("POST", "payment_intents"): _intent,
    ("GET", "payment_intents"): lambda pick: _page(pick, ("customer", an_id(pick, "cus"))),
    ("GET", "payment_intents/*"): lambda pick: pick.choice(([], [("expand[]", "customer")])),
    ("POST", "payment_intents/*"): lambda pick: pick.choice(
        ([("metadata[note]", "ß")], [("amount", "700")], [("description", "")], _TERMS)
    ),
    ("POST", "payment_intents/*/confirm"): lambda pick: [("payment_method", pick.choice(_CARDS))],
    ("POST", "payment_intents/*/capture"): lambda pick: pick.choice(
        ([], [("amount_to_capture", "1")], [("metadata[x]", "y")])
    ),
    ("POST", "payment_intents/*/cancel"): lambda pick: pick.choice(
        ([], [("cancellation_reason", "abandoned")])
    ),
    ("GET", "charges"): lambda pick: _page(pick, ("payment_intent", an_id(pick, "pi"))),
    ("GET", "charges/*"): lambda pick: pick.choice(([], [("expand[]", "payment_intent.customer")])),
    ("POST", "refunds"): lambda pick: [
        pick.choice((("payment_intent", an_id(pick, "pi")), ("charge", an_id(pick, "ch")))),
        *pick.choice(([], [("amount", "1")], [("reason", "duplicate"), ("metadata[a]", "b")])),
    ],
    ("GET", "refunds"): lambda pick: _page(pick, ("charge", an_id(pick, "ch"))),
    ("GET", "refunds/*"): lambda _: [],
    ("POST", "customers"): lambda pick: (
        _customer(pick) + pick.choice(([], [("payment_method", "pm_card_visa")]))
    ),
    ("GET", "customers"): lambda pick: _page(pick, ("email", f"c{pick.randint(1, 9)}@shop.test")),
    ("GET", "customers/*"): lambda _: [],
    ("POST", "customers/*"): _customer,
    ("DELETE", "customers/*"): lambda _: [],
    ("GET", "customers/*/payment_methods"): lambda pick: _page(pick, ("type", "card")),
    ("POST", "payment_methods"): lambda pick: pick.choice(
        (
            _CARD_DATA + _BILLING,
            [("type", "card"), ("card[token]", "tok_visa")],
            [("type", "us_bank_account"), ("us_bank_account[routing_number]", "110000000")],
        )
    ),
    ("GET", "payment_methods"): lambda pick: _page(pick, ("customer", an_id(pick, "cus"))),
    ("GET", "payment_methods/*"): lambda _: [],
    ("POST", "payment_methods/*/attach"): lambda pick: [("customer", an_id(pick, "cus"))],
    ("POST", "payment_methods/*/detach"): lambda _: [],
    ("GET", "events"): lambda pick: _page(
        pick,
        ("delivery_success", pick.choice(("true", "false"))),
        ("type", pick.choice(tuple(EVENT_TYPES.values()))),
        ("types[]", "charge.succeeded"),
    ),
    ("GET", "events/*"): lambda _: [],
    ("POST", "webhook_endpoints"): lambda pick: [
        ("url", f"{NOBODY}{pick.randint(1, 9)}"),
        # Seldom all: each endpoint is told of each event, and what is sent grows as their product.
        ("enabled_events[]", "*" if pick.random() < 0.05 else "customer.deleted"),
        ("metadata[a]", "b"),
    ],
    ("GET", "webhook_endpoints"): _page,
    ("GET", "webhook_endpoints/*"): lambda _: [],
    ("DELETE", "webhook_endpoints/*"): lambda _: [],
}
STRIPE: Final = tuple(STRIPE_ROUTES)


def stripe(route: Route, pick: Random) -> HttpRequest:
    method, shape = route
    fields, id_ = STRIPE_FIELDS[route](pick), an_id(pick, _STRIPE_IDS[shape.partition("/")[0]])
    if shape == "payment_methods/*/attach" and pick.random() < 0.5:
        id_ = pick.choice(_CARDS)
    caller = account(pick)
    if STRIPE_ROUTES[route].public and pick.random() < 0.15:
        secret = [("client_secret", client_secret(caller, id_))] if "*" in shape else []
        fields, caller = [*fields, *secret], caller.replace("sk_", "pk_")
    headers = {"authorization": f"Bearer {caller}", **key(pick)}
    path = "/v1/" + shape.replace("*", id_)
    if method == "POST":
        return form_request(method, path, headers, fields)
    return HttpRequest(method, path, tuple(fields), headers)


def client_secret(caller: str, intent: str) -> str:
    """Return what a browser shows for an intent; that it is right shows in what it is answered."""
    digest = hashlib.sha256(f"{caller} {intent}".encode()).hexdigest()
    return f"{intent}_secret_{digest[:24]}"


# Control.

_FAULTS: Final = (
    {"fault": "decline", "operation": "charge.create", "times": 1},
    {"fault": "redeliver", "copies": 3, "probability": 0.5},
    {"fault": "hold", "until": "elapsed", "amount": 1, "order": "ord-1", "after_s": 1.0},
    {"fault": "slow", "distribution": "lognormal", "nth": 2},
)
SECRET: Final = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"

CONTROL_FIELDS: Final[Mapping[Route, Callable[[Random], dict[str, Any]]]] = {
    ("POST", "/_sim/plan"): lambda pick: {
        "rules": [dict(each) for each in pick.sample(_FAULTS, pick.randint(0, 3))],
        "seed": pick.choice((None, 1)),
    },
    ("POST", "/_sim/profile"): lambda pick: {"keys": pick.choice(("honoured", "ignored"))},
    ("POST", "/_sim/seed"): lambda pick: {"seed": pick.randint(-9, 9)},
    ("POST", "/_sim/reset"): lambda _: {"seed": None},
    ("POST", "/_sim/held"): lambda pick: {
        "operation": "charge.create",
        "times": pick.choice((1, 3)),
        "at_most_ms": 60_000,
    },
    ("POST", "/_sim/clock/advance"): lambda pick: {"seconds": pick.choice((0, 1.5, 90_000))},
    ("POST", "/_sim/endpoints"): lambda pick: {
        "url": f"{NOBODY}{pick.randint(1, 3)}",
        "secret": SECRET,
        "account": pick.choice((None, SHOP)),
    },
    ("POST", "/_sim/endpoints/rotate"): lambda pick: {
        "url": f"{NOBODY}{pick.randint(1, 3)}",
        "secret": SECRET,
        "keep_s": 60,
    },
    ("POST", "/_sim/events/forge"): lambda pick: {
        "account": SHOP,
        "amount_minor": 500,
        "signature": pick.choice(("right", "old", "foreign")),
        "status": pick.choice(("captured", "declined")),
    },
    ("POST", "/_sim/events/{event}/duplicate"): lambda pick: {
        "copies": pick.randint(1, 3),
        "mode": "concurrent",
        "new_id": pick.random() < 0.5,
    },
}
CONTROL: Final = tuple((route.method, route.path) for route in CONTROL_ROUTES)


def control(route: Route, pick: Random) -> HttpRequest:
    method, path = route
    path = path.replace("{event}", an_id(pick, "evt")).replace(
        "{call}", f"call-{pick.randint(1, 12)}"
    )
    if route not in CONTROL_FIELDS:
        query = (("from", str(pick.randint(0, 50))),) if path.endswith("/journal") else ()
        return HttpRequest(method, path, query, {})
    return json_request(method, path, {}, CONTROL_FIELDS[route](pick))
