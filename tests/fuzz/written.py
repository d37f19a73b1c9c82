"""Requests as bytes: bodies of JSON and of forms, and what goes over the wire."""

import json
import sys
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from simulator.core.messages import HttpRequest

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"

Pairs = list[tuple[str, str]]
"""The fields of a form, in their order; a name may come twice."""


def json_request(
    method: str, path: str, headers: Mapping[str, str], fields: dict[str, Any]
) -> HttpRequest:
    return HttpRequest(method, path, (), {**headers, "content-type": JSON}, as_json(fields))


def form_request(method: str, path: str, headers: Mapping[str, str], fields: Pairs) -> HttpRequest:
    return HttpRequest(method, path, (), {**headers, "content-type": FORM}, as_form(fields))


def as_json(fields: Any) -> bytes:
    """Write JSON, with numbers of any length."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(fields).encode()
    finally:
        sys.set_int_max_str_digits(limit)


def as_form(fields: Pairs) -> bytes:
    """Write a form; lone surrogates go out as what UTF-8 would be if it had them."""
    return urlencode(fields, errors="surrogatepass").encode()


def on_the_wire(request: HttpRequest, *, last: bool) -> bytes:
    """Write a request down; its texts are anything, its lines are whole."""
    path = quote(request.path, safe="/*%", errors="surrogatepass")
    query = urlencode(request.query, errors="surrogatepass")
    lines = [f"{request.method} {path}{'?' if query else ''}{query} HTTP/1.1", "host: localhost"]
    lines += [f"{name}: {_one_line(value)}" for name, value in request.headers.items()]
    lines += [f"content-length: {len(request.body)}"]
    lines += ["connection: close"] if last else []
    return "\r\n".join((*lines, "", "")).encode("utf-8", "surrogatepass") + request.body


def _one_line(value: str) -> str:
    return value.translate({10: None, 13: None, 0: None})
