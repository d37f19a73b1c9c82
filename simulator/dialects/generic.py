"""The neutral provider: IETF ``Idempotency-Key`` and Standard Webhooks, taken at their word.

Rule 1: the key is required wherever money may move; what began to execute is stored under it,
        success or error (draft-ietf-httpapi-idempotency-key-header-07).
Rule 2: every refusal is a problem document (RFC 9457), its status a row of ``PROBLEMS``.
Rule 3: a field this API does not know is refused: a typo beside money must not pass.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, assert_never

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
from simulator.core.charges import Charge, Refund
from simulator.core.events import Event
from simulator.core.idempotency import KeyPolicy
from simulator.core.messages import HttpReply, HttpRequest
from simulator.core.results import (
    ChargeDeclined,
    ChargeMade,
    ChargeShown,
    ChargesListed,
    EventResent,
    EventShown,
    EventsListed,
    Problem,
    RefundMade,
    Result,
)

MAX_BODY_BYTES: Final = 65_536
MAX_AMOUNT_MINOR: Final = 999_999_999_999
EPOCH_DAY: Final = 20_454  # 2026-01-01, in days since 1970-01-01: where virtual time begins

PROBLEMS: Final[dict[str, tuple[int, str]]] = {
    "bad_request": (400, "The request cannot be read"),
    "key_missing": (400, "Idempotency-Key is missing"),
    "key_invalid": (400, "Idempotency-Key must be 1 to 255 printable ASCII characters"),
    "unauthorised": (401, "A bearer token is required"),
    "declined": (402, "The charge was declined"),
    "cancel_declined": (402, "The cancellation was declined"),
    "refund_declined": (402, "The refund was declined"),
    "not_found": (404, "There is no such thing"),
    "method_not_allowed": (405, "This method is not allowed here"),
    "illegal_transition": (409, "The charge is not in a state that allows this"),
    "key_in_flight": (409, "A request is outstanding for this Idempotency-Key"),
    "too_large": (413, "The request body is too large"),
    "invalid_field": (422, "A field of the request is not acceptable"),
    "capture_exceeds_authorisation": (422, "More than was authorised cannot be captured"),
    "refund_exceeds_capture": (422, "More than was captured cannot be refunded"),
    "key_mismatch": (422, "Idempotency-Key is already used"),
    "rate_limited": (429, "Too many requests"),
    "internal_error": (500, "Something went wrong on our side"),
    "unavailable": (503, "The service is unavailable"),
}


class Generic:
    """The dialect any charge service can adopt."""

    name: ClassVar[str] = "generic"
    keys: ClassVar[KeyPolicy] = KeyPolicy(
        heeded_for=frozenset({"charge.create", "charge.capture", "charge.cancel", "charge.refund"}),
        required_for=frozenset(
            {"charge.create", "charge.capture", "charge.cancel", "charge.refund"}
        ),
    )
    schedule_s: ClassVar[tuple[float, ...]] = (
        0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    )  # fmt: skip  # the example of the Standard Webhooks specification
    foreign_secret: ClassVar[str] = "whsec_" + base64.b64encode(b"nobody else has this").decode()

    def read(self, request: HttpRequest) -> Operation | Unreadable:
        """Tell what a request asks for."""
        shape, named = _shape(request.path)
        methods = ROUTES.get(shape, {})
        operation, _ = methods.get(request.method, ("unknown", None))
        key = _key(request.headers)
        account: str | None = None
        try:
            reader = _reader(methods, request.method)
            account = _account(request.headers)
            body, canonical = _body(request) if request.method == "POST" else ({}, b"")
            params = reader(named, body, dict(request.query))
        except _Refused as refused:
            # A key that is none is not repeated: it may be anything at all.
            sound = self.keys.objection("charge.create", key) is None
            return Unreadable(refused.problem, operation, account, key if sound else None)
        line = f"{request.method} {request.path}\n".encode("utf-8", "replace")
        return Operation(params, account, key, hashlib.sha256(line + canonical).hexdigest())

    def answer(self, result: Result) -> HttpReply:  # noqa: PLR0911  # one row for each result
        """Put a result into words."""
        match result:
            case ChargeMade(charge):
                return _json(201, _charge(charge))
            case ChargeShown(charge):
                return _json(200, _charge(charge))
            case ChargeDeclined(charge):
                more = {"decline_code": charge.decline_code, "charge": _charge(charge)}
                return _problem(Problem("declined"), more)
            case ChargesListed(charges):
                return _json(200, {"object": "list", "data": [_charge(each) for each in charges]})
            case RefundMade(refund, charge):
                return _json(201, _refund(refund, charge))
            case EventShown(event, delivered):
                return _json(200, _event(event, delivered))
            case EventsListed(events):
                data = [_event(each.event, each.delivered) for each in events]
                return _json(200, {"object": "list", "data": data})
            case EventResent(event, delivered):
                return _json(202, _event(event, delivered))
            case Problem():
                return _problem(result, {})
            case _:
                assert_never(result)

    def replay(self, reply: HttpReply) -> HttpReply:
        """Return the first reply with the header that says that it is a replay."""
        marked = (*reply.headers, ("idempotent-replayed", "true"))
        return HttpReply(reply.status, marked, reply.body)

    def accepts_secret(self, secret: str) -> bool:
        """Tell whether a secret is ``whsec_`` and base64 of something."""
        try:
            return bool(_secret_bytes(secret))
        except ValueError:  # no base64, or not even ASCII
            return False

    def message(
        self, event: Event, url: str, secrets: tuple[str, ...], wall_s: float
    ) -> HttpRequest:
        """Return the webhook, signed as Standard Webhooks 1.0.0 says: ``id.timestamp.body``.

        Two signatures, during a rotation, stand in one header with a space between them.
        """
        body = _ENCODE(_news(event)).encode()
        timestamp = int(wall_s)
        headers = {
            "content-type": "application/json",
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join(
                sign(secret, event.id, timestamp, body) for secret in secrets
            ),
        }
        return HttpRequest("POST", url, headers=headers, body=body)

    def acknowledged(self, status: int, body: bytes) -> bool:  # noqa: ARG002  # 2xx is enough here
        """Tell whether an answer is a 2xx; a redirect is not."""
        return 200 <= status < 300


def sign(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of ``webhook-signature``."""
    content = f"{event_id}.{timestamp}.".encode() + body
    digest = hmac.digest(_secret_bytes(secret), content, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def instant(virtual_s: float) -> str:
    """Return an instant of virtual time as RFC 3339 writes it, by the Gregorian calendar."""
    days, second = divmod(int(virtual_s), 86_400)
    # Years that begin in March put the leap day last, where it disturbs nobody.
    era, day = divmod(days + EPOCH_DAY + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month, year = (month + 3, year) if month < 10 else (month - 9, year + 1)
    hour, minute = second // 3_600, second // 60 % 60
    date = f"{era * 400 + year:04}-{month:02}-{day + 1:02}"
    return f"{date}T{hour:02}:{minute:02}:{second % 60:02}Z"


# Reading.


class _Refused(Exception):  # an answer, caught where it is turned into one
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.problem = Problem(code, detail)


_CURRENCY: Final = re.compile(r"[A-Z]{3}").fullmatch
_TOKEN: Final = re.compile(r"[\w.~+/=-]{1,255}", re.ASCII).fullmatch

Fields = dict[str, Any]
Reader = Callable[[str, Fields, dict[str, str]], Params]


def _create(_: str, body: Fields, __: dict[str, str]) -> Params:
    _only(body, "amount_minor", "currency", "reference", "customer", "capture", "metadata")
    currency = body.get("currency")
    if not isinstance(currency, str) or _CURRENCY(currency) is None:
        raise _Refused("invalid_field", "currency must be three capital letters")
    capture = body.get("capture", True)
    if not isinstance(capture, bool):
        raise _Refused("invalid_field", "capture must be true or false")
    amount_minor = _amount(body)
    if amount_minor is None:
        raise _Refused("invalid_field", "amount_minor is missing")
    return CreateCharge(
        amount_minor,
        currency,
        _name(body, "reference"),
        _name(body, "customer"),
        capture,
        _metadata(body),
    )


def _capture(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, "amount_minor")
    return CaptureCharge(charge, _amount(body))


def _cancel(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body)
    return CancelCharge(charge)


def _refund_of(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, "amount_minor")
    return RefundCharge(charge, _amount(body))


def _resend(event: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body)
    return ResendEvent(event)


def _list_charges(_: str, __: Fields, query: dict[str, str]) -> Params:
    _only(query, "reference")
    return ListCharges(_name(query, "reference"))


def _list_events(_: str, __: Fields, query: dict[str, str]) -> Params:
    _only(query, "delivered")
    said = query.get("delivered")
    if said not in (None, "true", "false"):
        raise _Refused("invalid_field", "delivered must be true or false")
    return ListEvents(None if said is None else said == "true")


def _read_charge(charge: str, _: Fields, __: dict[str, str]) -> Params:
    return ReadCharge(charge)


def _read_event(event: str, _: Fields, __: dict[str, str]) -> Params:
    return ReadEvent(event)


ROUTES: Final[dict[str, dict[str, tuple[str, Reader]]]] = {
    "charges": {"POST": ("charge.create", _create), "GET": ("charge.list", _list_charges)},
    "charges/*": {"GET": ("charge.read", _read_charge)},
    "charges/*/capture": {"POST": ("charge.capture", _capture)},
    "charges/*/cancel": {"POST": ("charge.cancel", _cancel)},
    "charges/*/refunds": {"POST": ("charge.refund", _refund_of)},
    "events": {"GET": ("event.list", _list_events)},
    "events/*": {"GET": ("event.read", _read_event)},
    "events/*/resend": {"POST": ("event.resend", _resend)},
}


def _shape(path: str) -> tuple[str, str]:
    """Split a path into a row of ``ROUTES`` and the id it names, if any."""
    match path.split("/"):
        case ["", "v1", things]:
            return things, ""
        case ["", "v1", things, named]:
            return f"{things}/*", named
        case ["", "v1", things, named, verb]:
            return f"{things}/*/{verb}", named
        case _:
            return "", ""


def _reader(methods: dict[str, tuple[str, Reader]], method: str) -> Reader:
    if not methods:
        raise _Refused("not_found", "this path leads nowhere")
    if method not in methods:
        raise _Refused("method_not_allowed", ", ".join(sorted(methods)))
    return methods[method][1]


def _account(headers: Mapping[str, str]) -> str:
    """Return the account a request speaks for: its token is its name."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or _TOKEN(token) is None:
        raise _Refused("unauthorised", "send Authorization: Bearer and a token")
    return token


def _key(headers: Mapping[str, str]) -> str | None:
    """Return the key, sent raw as everybody does or quoted as the draft says."""
    raw = headers.get("idempotency-key")
    if raw is None or not raw.startswith('"'):
        return raw
    quoted = re.fullmatch(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"', raw)
    # A string that never ends is no key; the empty one says so without a word of its own.
    return re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else ""


def _body(request: HttpRequest) -> tuple[Fields, bytes]:
    """Return the fields of a body, and the same in the one way in which equal ones are equal."""
    if len(request.body) > MAX_BODY_BYTES:
        raise _Refused("too_large", f"at most {MAX_BODY_BYTES} bytes")
    if not request.body:
        return {}, b""
    try:
        body = json.loads(request.body.decode())
        canonical = _CANONICAL(body).encode()
    except (ValueError, RecursionError):  # also: not UTF-8, lone surrogates, NaN, endless digits
        raise _Refused("bad_request", "the body is not JSON") from None
    if not isinstance(body, dict):
        raise _Refused("bad_request", "the body is not a JSON object")
    return body, canonical


def _only(fields: Mapping[str, Any], *known: str) -> None:
    unknown = sorted(set(fields).difference(known))
    if unknown:
        raise _Refused("invalid_field", f"unknown field {unknown[0]}"[:200])


def _amount(body: Fields) -> int | None:
    amount = body.get("amount_minor")
    if amount is None:
        return None
    if type(amount) is not int or not 1 <= amount <= MAX_AMOUNT_MINOR:  # a bool is an int
        raise _Refused("invalid_field", f"amount_minor must be 1 to {MAX_AMOUNT_MINOR}")
    return amount


def _name(fields: Mapping[str, Any], field: str) -> str | None:
    name = fields.get(field)
    if name is None:
        return None
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= 255:
        raise _Refused("invalid_field", f"{field} must be 1 to 255 printable characters")
    return name


def _metadata(body: Fields) -> dict[str, str]:
    metadata = body.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _Refused("invalid_field", "metadata must map strings to strings")
    return metadata


# Writing.

_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode
_CANONICAL: Final = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode
_JSON: Final = ("content-type", "application/json")
_PROBLEM_JSON: Final = ("content-type", "application/problem+json")


def _json(status: int, value: Fields) -> HttpReply:
    return HttpReply(status, (_JSON,), _ENCODE(value).encode())


def _problem(problem: Problem, more: Fields) -> HttpReply:
    usual_status, title = PROBLEMS.get(problem.code, (500, problem.code.replace("_", " ")))
    status = problem.status or usual_status
    headers = [_PROBLEM_JSON]
    if problem.retry_after_s is not None:
        headers.append(("retry-after", str(problem.retry_after_s)))
    if problem.code == "unauthorised":
        headers.append(("www-authenticate", "Bearer"))
    if problem.code == "method_not_allowed":
        headers.append(("allow", problem.detail))
    document = {
        "type": f"urn:onecharge:problem:{problem.code}",
        "title": title,
        "status": status,
        "detail": problem.detail,
        "code": problem.code,
    }
    return HttpReply(status, tuple(headers), _ENCODE(document | more).encode())


def _charge(charge: Charge) -> Fields:
    return {
        "id": charge.id,
        "object": "charge",
        "status": charge.status,
        "amount_minor": charge.amount_minor,
        "captured_minor": charge.captured_minor,
        "refunded_minor": charge.refunded_minor,
        "currency": charge.currency,
        "reference": charge.reference,
        "customer": charge.customer,
        "metadata": charge.metadata,
        "decline_code": charge.decline_code,
        "created": int(charge.created_s),
    }


def _refund(refund: Refund, charge: Charge) -> Fields:
    return {
        "id": refund.id,
        "object": "refund",
        "charge": charge.id,
        "amount_minor": refund.amount_minor,
        "currency": charge.currency,
        "reference": charge.reference,
    }


def _event(event: Event, delivered: bool) -> Fields:  # noqa: FBT001  # the fields of a result
    return {"id": event.id, "object": "event", "delivered": delivered} | _news(event)


def _news(event: Event) -> Fields:
    data: Fields = {"charge": _charge(event.charge)}
    if event.refund is not None:
        data["refund"] = _refund(event.refund, event.charge)
    return {"type": event.type, "timestamp": instant(event.created_s), "data": data}


def _secret_bytes(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
