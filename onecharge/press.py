"""One press of *Pay*: the request that leaves, and the records of it. No I/O.

Rule 1: whoever sends, the driver of a scenario or a Locust user, writes the same two records:
        ``invoke`` before the first byte leaves, its completion after the last is parsed.
Rule 2: an answer is understood by the service file's words and nothing else.
Rule 3: what differs from a plain press is data (``Press``), and the record says which it was and
        what was really sent.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from onecharge.history.judgement import decimal
from onecharge.history.outcomes import MEANING, TERMINAL, Outcome
from onecharge.history.story import Operation as Asked
from onecharge.history.story import Variant
from onecharge.service_file import Answer, Request, found
from onecharge.service_file.requests import FORM_TYPE, JSON_TYPE
from onecharge.templates import filled, filled_text, placeholders
from simulator.core.journal import Entry
from simulator.redaction import redacted

_EXCERPT = 500

_ANY_END: frozenset[Outcome] = frozenset(o for o, meaning in MEANING.items() if not meaning.open)
_SETTLED_BY: dict[Variant, frozenset[Outcome]] = {
    "same": _ANY_END,
    # The other tenant's press is for an order of its own.
    "other_tenant": _ANY_END,
    # Whether a byte that differs makes another request is for the service to say.
    "header_jitter": TERMINAL,
    "json_jitter": TERMINAL,
    # Under another key nothing is said of the first attempt, but that the order is paid.
    "new_key": frozenset({"ok"}),
}
"""Which answers to which press say how its order ended. Those to a mismatching one never do."""


@dataclass(frozen=True, slots=True)
class Press:
    """How one press differs from a plain one.

    ``key`` replaces the order's own: that of another order, or an edge case (``keys.py``). A
    ``new_key`` without one makes one up. ``other_tenant`` is pressed for an order of the other
    tenant, with the ``key`` of this one's.
    """

    variant: Variant = "same"
    key: str | None = None


PLAIN = Press()


@dataclass
class Operation:
    """A refund or a capture that a customer has asked for, under a key of its own."""

    what: Literal["refund", "capture"]
    key: str
    amount_minor: int
    outcome: Outcome | None = None
    id: str | None = None
    attempts: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def settled(self) -> bool:
        """Whether the customer has had a definite answer."""
        return self.outcome is not None and not MEANING[self.outcome].open


@dataclass
class Order:
    """A merchant's intent to be paid once, and how far its customer has come.

    ``captured``, ``headers`` and ``cookies`` are what its customer was given on the way;
    ``trouble`` is why its customer could not even press, in one sentence, and ``waited_s`` for how
    long it has asked again and again how a pending charge went. ``keys_since_s`` is when the life
    of each key began.
    """

    serial: int
    reference: str
    key: str
    amount_minor: int
    currency: str
    customer: str
    tenant: str
    token: str
    outcome: Outcome | None = None
    charge: str | None = None
    attempts: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    captured: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    prepared: bool = False
    trouble: str | None = None
    waited_s: float = 0.0
    operations: list[Operation] = field(default_factory=list)
    keys_since_s: dict[str | None, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Order {self.reference} {self.amount_minor} {self.currency} {self.outcome}>"

    @property
    def settled(self) -> bool:
        """Whether the customer has had a definite answer."""
        return self.outcome is not None and not MEANING[self.outcome].open

    @property
    def capture_key(self) -> str:
        """Return the key under which its money is taken, where that is a request of its own."""
        return f"{self.key}-capture"

    def values(self) -> dict[str, Any]:
        """Return what request templates may name."""
        return {
            "key": self.key,
            "order": self.reference,
            "amount_minor": self.amount_minor,
            "amount_decimal": decimal(self.amount_minor, self.currency),
            "currency": self.currency,
            "customer": self.customer,
            "tenant": self.tenant,
            "token": self.token,
            **({} if self.charge is None else {"charge": self.charge}),
            **self.captured,
        }

    def request(self, template: Request, values: Mapping[str, Any] | None = None) -> "Prepared":
        """Fill a template about this order, as its customer sends it: with headers and cookies."""
        return prepared(
            template,
            self.values() if values is None else values,
            headers=self.headers,
            cookies=self.cookies,
        )


@dataclass(frozen=True)
class Prepared:
    """A request made from its template, ready to be sent to any instance."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None


@dataclass(frozen=True)
class Heard:
    """What came back: a status and a text, or an error; ``body`` is the text's JSON.

    ``headers`` have lower-case names. A cookie that the answer takes back is empty in ``cookies``.
    """

    status: int | None = None
    text: str = ""
    retry_after: bool = False
    error: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Any:
        """Return the JSON of the answer, or None if it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def prepared(
    request: Request,
    values: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    cookies: Mapping[str, str] | None = None,
) -> Prepared:
    """Fill a request template; ``headers`` and ``cookies`` go with it, as far as it has none."""
    filled_in = {name: filled_text(text, values) for name, text in request.headers.items()}
    said = {name.lower() for name in filled_in}
    filled_in |= {name: text for name, text in (headers or {}).items() if name.lower() not in said}
    if cookies and "cookie" not in said:
        filled_in["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
    body = None
    if request.json_body is not None:
        body = json.dumps(filled(request.json_body, values))
        _default(filled_in, "Content-Type", JSON_TYPE)
    elif request.form is not None:
        fields = {name: _as_text(filled(value, values)) for name, value in request.form.items()}
        body = urlencode(fields)
        _default(filled_in, "Content-Type", FORM_TYPE)
    return Prepared(request.method, filled_text(request.path, values), filled_in, body)


def missing(request: Request, values: Mapping[str, Any]) -> list[str]:
    """Return the placeholders of a template for which there is no value (yet)."""
    parts = (request.path, request.headers, request.json_body, request.form)
    names = (name for part in parts for name in placeholders(part))
    return list(dict.fromkeys(name for name in names if name not in values))


def invocation(
    lane: str,
    order: Order,
    instance: str,
    *,
    what: Asked = "charge",
    sent: Mapping[str, Any] | None = None,
    variant: Variant = "same",
    attempt: int | None = None,
) -> Entry:
    """Return the record that a request is about to leave; ``sent`` are the values it carries."""
    sent = order.values() if sent is None else sent
    value = {
        "what": what,
        "variant": variant,
        "attempt": next(order.attempts) if attempt is None else attempt,
        "amount_minor": sent["amount_minor"],
        "currency": sent["currency"],
        "customer": sent["customer"],
        "instance": instance,
    }
    return Entry(lane, "invoke", value, order.reference, order.tenant, sent["key"])


def completion(
    lane: str,
    order: Order,
    answer: Answer,
    heard: Heard,
    cause: int,
    *,
    what: Asked = "charge",
    key: str | None = None,
    variant: Variant = "same",
    told: Operation | None = None,
) -> Entry:
    """Note what a customer was told, and return the record of it.

    It is noted on the order, or on the operation that was ``told`` of.
    """
    body = heard.body
    outcome = _outcome(order, answer, heard, what)
    charge = _text(found(answer.charge, body))
    value: dict[str, Any] = {
        "what": "answer",
        "outcome": outcome,
        "status": heard.status,
        "charge": charge,
        "provider_charge": _found(answer.provider_charge, body),
        "error": heard.error,
        "body": redacted(heard.text[: 2 * _EXCERPT])[:_EXCERPT],
    }
    if (code := _found(answer.error, body)) is not None:
        value["error_code"] = code
    if outcome != "ok":
        value |= _unclear(answer, heard)
    if answer.stable_fields and MEANING[outcome].kind != "unknown":
        value["stable"] = {path: found(path, body) for path in answer.stable_fields}
    _keep(order, heard)
    if told is not None:
        _note_operation(told, outcome, charge)
    else:
        _note(order, answer, outcome, charge, body, variant=variant)
    key = order.key if key is None else key
    return Entry(lane, MEANING[outcome].kind, value, order.reference, order.tenant, key, cause)


def _unclear(answer: Answer, heard: Heard) -> dict[str, str | None]:
    """Return what else a reader wants to know of an answer that is no success."""
    if "location" in heard.headers:
        return {"location": redacted(heard.headers["location"][:_EXCERPT])}
    return {} if heard.body is None else {"word": _text(found(answer.status, heard.body))}


def _outcome(order: Order, answer: Answer, heard: Heard, what: Asked) -> Outcome:
    word = _text(found(answer.status, heard.body))
    outcome = answer.means(heard.status, word, heard.error, retry_after=heard.retry_after)
    if outcome == "invalid" and order.prepared and heard.status in {401, 403}:
        # The service has forgotten who its customer is; whoever logs in again may ask again.
        order.prepared = False
        return "retry_later"
    if what == "read" and outcome not in {"ok", "pending", "declined"}:
        # What a status page cannot find may be on its way: a question never refuses a charge.
        return "unknown"
    return outcome


def _note(
    order: Order,
    answer: Answer,
    outcome: Outcome,
    charge: str | None,
    body: Any,
    *,
    variant: Variant,
) -> None:
    settled_by = _SETTLED_BY.get(variant)
    if order.settled or settled_by is None:
        return
    if MEANING[outcome].open or outcome in settled_by:
        order.outcome, order.charge = outcome, charge or order.charge
        for name, path in answer.capture.items():
            if (value := found(path, body)) is not None:
                order.captured[name] = value


def _note_operation(operation: Operation, outcome: Outcome, name: str | None) -> None:
    if not operation.settled:
        operation.outcome, operation.id = outcome, name or operation.id


def _keep(order: Order, heard: Heard) -> None:
    """Keep the cookies that a session goes on with, where there is one."""
    if order.cookies:
        keep_cookies(order, heard)


def keep_cookies(order: Order, heard: Heard) -> None:
    """Keep the cookies of an answer, and forget those that it takes back."""
    for name, value in heard.cookies.items():
        if value:
            order.cookies[name] = value
        else:
            order.cookies.pop(name, None)


def _found(path: str | None, body: Any) -> str | None:
    return _text(found(path, body)) if path else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(headers: dict[str, str], name: str, value: str) -> None:
    if name.lower() not in {each.lower() for each in headers}:
        headers[name] = value
