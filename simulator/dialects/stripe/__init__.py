"""Stripe's API v1: payment intents, stored replies, and events that are signed with a time.

Rule 1: what began to execute is stored under its key for 24 hours, success or error, 500s too;
        what never did is not: invalid parameters, 401, 409, 429.
Rule 2: types, codes and headers are exact, messages are our own; where nobody can say what the
        real one does, it is a named constant and no test asserts it.
Rule 3: operations have the names that they have in every dialect. ``charge.create`` is any call
        that may take money for the first time: to create an intent with ``confirm`` and to confirm
        one. ``intent.create`` moves none. ``charge.capture``, ``charge.cancel``, ``charge.refund``,
        ``charge.read``, ``charge.list``, ``event.read`` and ``event.list`` mean the same as
        elsewhere, be it of an intent or of its charge. The rest has names of its own:
        ``customer.create``, ``method.attach``, ``endpoint.create``, ….
Rule 4: an event's rules go by its type here, ``delivery.payment_intent.succeeded``, and by the fact
        that is the same everywhere: ``delivery.charge.captured`` is any event of a capture.
"""

import hashlib
import json
from typing import ClassVar, Final
from urllib.parse import urlencode

from simulator.core.calls import ChargeParams, EventParams, Operation, Unreadable
from simulator.core.cashier import TOLD
from simulator.core.desk_results import (
    IntentDeclined,
    IntentRefused,
    ThingGone,
    ThingShown,
    ThingsListed,
    WebhookEndpoint,
)
from simulator.core.events import Event
from simulator.core.idempotency import KeyPolicy, Refuse
from simulator.core.messages import HttpReply, HttpRequest
from simulator.core.results import Problem, Result
from simulator.dialects.stripe import errors, webhooks
from simulator.dialects.stripe.asks import Ask
from simulator.dialects.stripe.callers import BROWSER_FIELDS, Caller, caller_of
from simulator.dialects.stripe.fields import Invalid
from simulator.dialects.stripe.forms import Fields, Malformed, nested, read_body
from simulator.dialects.stripe.objects import failure_object, gone, listed, request_id, shown
from simulator.dialects.stripe.requests import ORDER_KEYS
from simulator.dialects.stripe.routes import ROUTES, Route, route_of
from simulator.dialects.stripe.writing import written

FORM: Final = "application/x-www-form-urlencoded"
_HOUR_S: Final = 3_600

_PREFLIGHT: Final = HttpReply(
    200,
    (
        ("access-control-allow-headers", "*"),
        ("access-control-allow-methods", "GET, HEAD, POST, DELETE"),
        ("access-control-max-age", "300"),
    ),
)
"""What a browser asks before it asks from another origin."""


class Stripe:
    """The dialect that most charge services speak."""

    name: ClassVar[str] = "stripe"
    keys: ClassVar[KeyPolicy] = KeyPolicy(
        heeded_for=frozenset(
            route.operation for (method, _), route in ROUTES.items() if method == "POST"
        ),
        in_flight=Refuse("key_in_flight"),
        echo="idempotency-key",
    )
    schedule_s: ClassVar[tuple[float, ...]] = (
        0, 300, 900, _HOUR_S, 2 * _HOUR_S, 4 * _HOUR_S, 8 * _HOUR_S, 16 * _HOUR_S, 24 * _HOUR_S,
    )  # fmt: skip  # about three days, ever longer; the intervals themselves are not published
    events_shown_s: ClassVar[float] = 30 * 24 * _HOUR_S
    bills: ClassVar[bool] = False
    named_as: ClassVar[str] = f"metadata {ORDER_KEYS[0]}, {' or '.join(ORDER_KEYS[1:])}"
    foreign_secret: ClassVar[str] = "whsec_" + "nobody_else_has_this"

    def read(self, request: HttpRequest) -> Operation | Unreadable:
        """Tell what a request asks for."""
        if request.method == "OPTIONS":
            return Unreadable(Problem("preflight"))
        route, named = route_of(request.method, request.path)
        operation = route.operation if route else "unknown"
        key = self.keys.key_in(request.headers, {})
        caller: Caller | None = None
        try:
            fields = _fields(request)
            caller = caller_of(request.headers, fields)
            known = _known(route, request)
            fields = _allowed(known, caller, fields)
            call = known.read(Ask(named, fields, caller.public))
        except Invalid as invalid:
            # A key that is none is not repeated: it may be anything at all.
            sound = self.keys.objection("charge.create", key) is None
            account = caller.account if caller else None
            return Unreadable(invalid.problem, operation, account, key if sound else None)
        return Operation(call, caller.account, key, _fingerprint(request, fields))

    def ask(
        self, params: ChargeParams | EventParams, account: str, key: str | None = None
    ) -> HttpRequest | None:
        """Write the request that a caller would send; see ``writing.py``."""
        said = written(params)
        if said is None:
            return None
        method, path, fields = said
        headers = {"authorization": f"Bearer {account}"}
        if key is not None:
            headers["idempotency-key"] = key
        if method == "GET":
            return HttpRequest(method, path, tuple(fields.items()), headers)
        headers["content-type"] = FORM
        return HttpRequest(method, path, (), headers, urlencode(fields).encode())

    def answer(self, result: Result) -> HttpReply:  # noqa: PLR0911  # one row for each result
        """Put a result into words."""
        match result:
            case ThingShown(WebhookEndpoint(secret=secret) as endpoint, view, fresh=True):
                return errors.json_reply(200, {**shown(endpoint, view), "secret": secret})
            case ThingShown(thing, view):
                return errors.json_reply(200, shown(thing, view))
            case ThingsListed(kind, things, more, view):
                return errors.json_reply(200, listed(kind, things, view, more=more))
            case ThingGone(kind, id_):
                return errors.json_reply(200, gone(kind, id_))
            case IntentDeclined(intent, view):
                assert intent.failure is not None
                more_told = {
                    **failure_object(intent.failure),
                    "payment_intent": shown(intent, view),
                }
                return errors.declined(intent.failure.code, more_told)
            case IntentRefused(code, detail, intent, view):
                return errors.reply(Problem(code, detail), {"payment_intent": shown(intent, view)})
            case Problem("preflight"):
                return _PREFLIGHT
            case Problem("declined", detail=reason, field=param):
                return errors.declined(reason, {"param": param})
            case Problem():
                return errors.reply(result)
            case _:  # the results of calls that this dialect never makes
                raise AssertionError(f"there is no word for {result}")

    def addressed(self, reply: HttpReply, call: str) -> HttpReply:
        """Return a reply with the id of this request; a script in a browser may read it."""
        own = (("request-id", request_id(call)), ("access-control-allow-origin", "*"))
        return HttpReply(reply.status, (*reply.headers, *own), reply.body)

    def event_type(self, name: str) -> str:
        """Return what this provider calls a piece of the desk's news."""
        return webhooks.EVENT_TYPES[name]

    def told_as(self, fact: str) -> tuple[str, ...]:
        """Return what this provider calls the news of an intent and of its charge."""
        return tuple(webhooks.EVENT_TYPES[name] for name in TOLD[fact])

    def accepts_secret(self, secret: str) -> bool:
        """Tell whether a secret is ``whsec_`` and something printable."""
        rest = secret.removeprefix("whsec_")
        return rest != secret and rest.isascii() and rest.isprintable() and bool(rest.strip())

    def message(
        self, event: Event, url: str, secrets: tuple[str, ...], wall_s: float
    ) -> HttpRequest:
        """Return the webhook, signed with every secret."""
        return webhooks.message(event, url, secrets, wall_s)

    def acknowledged(self, status: int, body: bytes) -> bool:  # noqa: ARG002  # 2xx is enough here
        """Tell whether an answer is a 2xx; a redirect is a failure."""
        return 200 <= status < 300


def _fields(request: HttpRequest) -> Fields:
    """Return the parameters: those of the query, and those of the form for whoever sends one."""
    has_form = bool(request.body) and request.method != "GET"
    content_type = request.headers.get("content-type", FORM)
    if has_form and not content_type.lower().startswith(FORM):
        raise Invalid("bad_request", f"the body must be {FORM}")
    try:
        fields = nested(request.query)
        return fields | read_body(request.body) if has_form else fields
    except Malformed as malformed:
        raise Invalid("bad_request", str(malformed)) from None


def _known(route: Route | None, request: HttpRequest) -> Route:
    if route is None:
        raise Invalid("unrecognised_url", f"{request.method}: {request.path[:200]}")
    return route


def _allowed(route: Route, caller: Caller, fields: Fields) -> Fields:
    """Return the parameters that mean anything, if this caller may use this endpoint."""
    if not caller.public:
        return fields
    if not route.public:
        raise Invalid("secret_key_required", "")
    return {name: value for name, value in fields.items() if name not in BROWSER_FIELDS}


def _fingerprint(request: HttpRequest, fields: Fields) -> str:
    """Return a digest of the endpoint and of all parameters, in whatever order they came."""
    told = json.dumps([request.method, request.path, fields], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
