"""Reading: what a request asks for, or why it cannot be read.

Rule 1: a field this API does not know is refused: a typo beside money must not pass.
Rule 2: every route is a row of ``ROUTES``.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    CreateCharge,
    ListCharges,
    ListEvents,
    Params,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
)
from simulator.core.results import Problem

MAX_BODY_BYTES: Final = 65_536
MAX_AMOUNT_MINOR: Final = 999_999_999_999


class Refused(Exception):  # an answer, caught where it is turned into one
    """A request that will not do, and the problem to answer with."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.problem = Problem(code, detail)


_CURRENCY: Final = re.compile(r"[A-Z]{3}").fullmatch
_TOKEN: Final = re.compile(r"[\w.~+/=-]{1,255}", re.ASCII).fullmatch

_OF_A_CHARGE: Final = frozenset(
    {"amount_minor", "currency", "reference", "customer", "capture", "metadata"}
)
_OF_AN_AMOUNT: Final = frozenset({"amount_minor"})
_OF_A_LIST: Final = frozenset({"reference"})
_OF_EVENTS: Final = frozenset({"delivered"})
_NOTHING: Final[frozenset[str]] = frozenset()

Fields = dict[str, Any]
Reader = Callable[[str, Fields, dict[str, str]], Params]


def _create(_: str, body: Fields, __: dict[str, str]) -> Params:
    _only(body, _OF_A_CHARGE)
    currency = body.get("currency")
    if not isinstance(currency, str) or _CURRENCY(currency) is None:
        raise Refused("invalid_field", "currency must be three capital letters")
    capture = body.get("capture", True)
    if not isinstance(capture, bool):
        raise Refused("invalid_field", "capture must be true or false")
    amount_minor = _amount(body)
    if amount_minor is None:
        raise Refused("invalid_field", "amount_minor is missing")
    return CreateCharge(
        amount_minor,
        currency,
        _name(body, "reference"),
        _name(body, "customer"),
        capture,
        _metadata(body),
    )


def _capture(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, _OF_AN_AMOUNT)
    return CaptureCharge(charge, _amount(body))


def _cancel(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, _NOTHING)
    return CancelCharge(charge)


def _refund_of(charge: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, _OF_AN_AMOUNT)
    return RefundCharge(charge, _amount(body))


def _resend(event: str, body: Fields, _: dict[str, str]) -> Params:
    _only(body, _NOTHING)
    return ResendEvent(event)


def _list_charges(_: str, __: Fields, query: dict[str, str]) -> Params:
    _only(query, _OF_A_LIST)
    return ListCharges(_name(query, "reference"))


def _list_events(_: str, __: Fields, query: dict[str, str]) -> Params:
    _only(query, _OF_EVENTS)
    said = query.get("delivered")
    if said not in (None, "true", "false"):
        raise Refused("invalid_field", "delivered must be true or false")
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


def shape_of(path: str) -> tuple[str, str]:
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


def reader_of(methods: dict[str, tuple[str, Reader]], method: str) -> Reader:
    if not methods:
        raise Refused("not_found", "this path leads nowhere")
    if method not in methods:
        raise Refused("method_not_allowed", ", ".join(sorted(methods)))
    return methods[method][1]


@lru_cache
def account_of(authorization: str) -> str:
    """Return the account a request speaks for: its token is its name."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or _TOKEN(token) is None:
        raise Refused("unauthorised", "send Authorization: Bearer and a token")
    return token


def body_of(content: bytes) -> Fields:
    """Return the fields of a body; one that is not there has none."""
    if len(content) > MAX_BODY_BYTES:
        raise Refused("too_large", f"at most {MAX_BODY_BYTES} bytes")
    if not content:
        return {}
    try:
        text = content.decode().strip(" \t\n\r")
        body, end = _DECODE(text)
    except (ValueError, RecursionError):  # also: not UTF-8, NaN, endless digits
        raise Refused("bad_request", "the body is not JSON") from None
    if end != len(text):
        raise Refused("bad_request", "the body is not JSON")
    if not isinstance(body, dict):
        raise Refused("bad_request", "the body is not a JSON object")
    return body


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# Not ``decode``, which adds a third to it by looking twice for white space.
_DECODE: Final = json.JSONDecoder(parse_constant=_no_number).raw_decode


def _only(fields: Mapping[str, Any], known: frozenset[str]) -> None:
    if not fields.keys() <= known:
        unknown = min(fields.keys() - known)
        raise Refused("invalid_field", f"unknown field {unknown}"[:200])


def _amount(body: Fields) -> int | None:
    amount = body.get("amount_minor")
    if amount is None:
        return None
    if type(amount) is not int or not 1 <= amount <= MAX_AMOUNT_MINOR:  # a bool is an int
        raise Refused("invalid_field", f"amount_minor must be 1 to {MAX_AMOUNT_MINOR}")
    return amount


def _name(fields: Mapping[str, Any], field: str) -> str | None:
    name = fields.get(field)
    if name is None:
        return None
    if not isinstance(name, str) or not name.isprintable() or not 1 <= len(name) <= 255:
        raise Refused("invalid_field", f"{field} must be 1 to 255 printable characters")
    return name


_NO_METADATA: Final[dict[str, str]] = {}  # one for all charges that have none


def _metadata(body: Fields) -> dict[str, str]:
    metadata = body.get("metadata")
    if metadata is None:
        return _NO_METADATA
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise Refused("invalid_field", "metadata must map strings to strings")
    try:
        "".join(chain.from_iterable(metadata.items())).encode()
    except UnicodeEncodeError:
        raise Refused("invalid_field", "metadata must be text, without lone surrogates") from None
    return metadata
