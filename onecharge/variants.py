"""What leaves when a customer presses not quite the same: other values, other bytes. No I/O.

Rule 1: a variant changes one thing and nothing else.
Rule 2: a *jitter* changes bytes and no meaning: an honest client may do it on any retry.
Rule 3: chance is a number that comes in: the same attempt makes the same bytes.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from onecharge.history.judgement import decimal
from onecharge.history.story import Variant
from onecharge.press import Order, Prepared, Press
from onecharge.service_file import ServiceFile
from onecharge.service_file.requests import FORM_TYPE, JSON_TYPE
from onecharge.templates import placeholders

_ABOVE_ALL_MINOR: Final = 500_000
"""What is added for another amount: more than any order's own, so that no two are taken for one."""

MISMATCHING: Final[frozenset[Variant]] = frozenset(
    {"other_amount", "other_currency", "other_customer", "other_operation"}
)
"""The presses that a service must not take for the first one of their key."""


_CARRIED_BY: Final[dict[Variant, frozenset[str]]] = {
    "other_amount": frozenset({"amount_minor", "amount_decimal"}),
    "other_currency": frozenset({"currency"}),
    "other_customer": frozenset({"customer"}),
    "other_tenant": frozenset({"tenant", "token"}),
}
"""What a request must name for a variant to be seen in it: else it would be the same request."""


def why_not(variant: Variant, file: ServiceFile) -> str | None:
    """Say why a service cannot be pressed so, or None if it can."""
    carried_by = _CARRIED_BY.get(variant)
    if carried_by is not None and carried_by.isdisjoint(_named(file)):
        return f"[charge] names no {' or '.join(sorted(carried_by))}"
    match variant:
        case "other_amount" if len(set(file.orders.amounts)) == 1:
            return "[orders] amounts has one price only"
        case "other_tenant" if len(file.tenants) < 2:
            return "[tenants] names one tenant only"
        case "other_operation" if file.refund is None and file.capture is None:
            return "there is neither a table [refund] nor [capture]"
        case "json_jitter" if file.charge.json_body is None and file.charge.form is None:
            return "[charge] has no body"
        case _:
            return None


def values_of(order: Order, press: Press, file: ServiceFile, attempt: int) -> dict[str, Any]:
    """Return the values that a press of this order sends, its ``attempt``-th request."""
    values = order.values()
    values["key"] = order.key if press.key is None else press.key
    match press.variant:
        case "other_amount":
            amount_minor = _another_price(order.amount_minor, file.orders.amounts)
            values["amount_minor"] = amount_minor
            values["amount_decimal"] = decimal(amount_minor, order.currency)
        case "other_currency":
            values["currency"] = "EUR" if order.currency == "USD" else "USD"
            values["amount_decimal"] = decimal(order.amount_minor, values["currency"])
        case "other_customer":
            values["customer"] = f"{order.customer}-other"
        case "new_key" if press.key is None:
            values["key"] = f"{order.key}-again-{attempt}"
        case _:
            pass
    return values


def jittered(request: Prepared, variant: Variant, seed: int) -> Prepared:
    """Return a request with other bytes of the same meaning, if the variant is one of these."""
    jitter = _JITTERS.get(variant)
    return request if jitter is None else jitter(request, random.Random(seed))


def _other_headers(request: Prepared, chance: random.Random) -> Prepared:
    """Change what proxies and browsers change: header case, agent, trace, parameters of a type."""
    spell = chance.choice((str.lower, str.upper, str.title))
    headers = {spell(name): value for name, value in request.headers.items()}
    for name, value in headers.items():
        if name.lower() == "content-type" and value == JSON_TYPE:
            headers[name] = f"{JSON_TYPE}; charset=utf-8"
    headers["User-Agent"] = f"customer/{chance.randrange(1, 100)}"
    headers["traceparent"] = f"00-{chance.getrandbits(128):032x}-{chance.getrandbits(64):016x}-01"
    return replace(request, headers=headers)


def _other_spelling(request: Prepared, chance: random.Random) -> Prepared:
    """Write the same body with other white space and its fields in another order."""
    if request.body is None:
        return request
    if _type_of(request.headers).startswith(FORM_TYPE):
        fields = parse_qsl(request.body, keep_blank_values=True)
        return replace(request, body=urlencode(fields[::-1]))
    indent = chance.choice((1, 2, 4))
    body = json.dumps(_reversed(json.loads(request.body)), indent=indent)
    return replace(request, body=body + "\n")


_JITTERS: Final[dict[Variant, Callable[[Prepared, random.Random], Prepared]]] = {
    "header_jitter": _other_headers,
    "json_jitter": _other_spelling,
}


def _type_of(headers: Mapping[str, str]) -> str:
    return next((v for name, v in headers.items() if name.lower() == "content-type"), "")


def _reversed(value: Any) -> Any:
    match value:
        case dict():
            return {name: _reversed(value[name]) for name in reversed(value)}
        case list():
            return [_reversed(each) for each in value]
        case _:
            return value


def _named(file: ServiceFile) -> set[str]:
    """Return the placeholders of the charge request."""
    charge = file.charge
    parts = (charge.path, charge.headers, charge.json_body, charge.form)
    return {name for part in parts for name in placeholders(part)}


def _another_price(amount_minor: int, prices: tuple[int, ...]) -> int:
    if not prices:
        return amount_minor + _ABOVE_ALL_MINOR
    return next(price for price in prices if price != amount_minor)
