"""What a customer does before the first press of an order: log in, get a token, fill a cart.

Rule 1: steps are taken one after the other; what one answer is captured as, the next may name.
Rule 2: a step that fails says which one it was and what it got. Nothing was charged by it, so
        its record is *unknown* and the customer begins again.
Rule 3: no I/O here; whoever sends, a scenario's driver or Locust, writes the same records.
"""

import json
import re
from typing import Any

from onecharge.press import Heard, Order, keep_cookies
from onecharge.service_file import Prepare, found
from simulator.core.journal import Entry, Kind
from simulator.redaction import redacted

_EXCERPT = 200


def step_begins(lane: str, order: Order, number: int, step: Prepare, instance: str) -> Entry:
    """Return the record that a step's request is about to leave; steps count from 1."""
    value = {
        "what": "prepare",
        "step": number,
        "method": step.method,
        "path": step.path,
        "instance": instance,
    }
    return Entry(lane, "invoke", value, order.reference, order.tenant)


def step_ends(
    lane: str, order: Order, number: int, step: Prepare, heard: Heard, *, cause: int
) -> Entry:
    """Take from an answer what later requests need, and return the record of it.

    When something is missing the order is in ``trouble``.
    """
    wrong = _wrong(step, heard) or _capture(order, step, heard)
    order.trouble = wrong and f"[[prepare]] {number}: {step.method} {step.path} {wrong}"
    value = {"what": "prepare", "step": number, "status": heard.status, "error": wrong}
    kind: Kind = "unknown" if wrong else "ok"
    return Entry(lane, kind, value, order.reference, order.tenant, None, cause)


def headers_printed(text: str) -> dict[str, str]:
    """Return the headers that a ``headers_command`` printed; ``ValueError`` if it did not."""
    try:
        headers = json.loads(text)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(v, str) for v in headers.values()):
        raise ValueError(f"expected a JSON object of texts, found {text[:_EXCERPT].strip()!r}")
    return headers


def _wrong(step: Prepare, heard: Heard) -> str | None:
    if heard.error is not None or heard.status is None:
        return f"got no answer: {heard.error}"
    if step.expects(heard.status):
        return None
    expected = " or ".join(map(str, step.expect)) or "a 2xx"
    began = redacted(heard.text[: 2 * _EXCERPT])[:_EXCERPT]
    return f"was answered HTTP {heard.status}, expected {expected}; the answer began: {began!r}"


def _capture(order: Order, step: Prepare, heard: Heard) -> str | None:
    """Keep what a step is for; return what of it is not in the answer."""
    if step.cookies:
        keep_cookies(order, heard)
    ways = (
        (step.capture, _json_value(heard.body)),
        (step.capture_headers, lambda name: heard.headers.get(name.lower())),
        (step.capture_cookies, lambda name: heard.cookies.get(name) or order.cookies.get(name)),
        (step.capture_text, lambda pattern: _first_group(pattern, heard.text)),
    )
    for captures, look in ways:
        for name, where in captures.items():
            value = look(where)
            if value is None:
                return f"was answered without what {name!r} is captured from: {where}"
            order.captured[name] = value
    return None


def _json_value(body: Any) -> Any:
    return lambda path: found(path, body)


def _first_group(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1] if match else None
