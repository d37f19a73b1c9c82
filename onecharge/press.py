"""One press of *Pay*: the request that leaves, and the records of it. No I/O.

Rule 1: whoever sends, the driver of a scenario or a Locust user, writes the same two records:
        ``invoke`` before the first byte leaves, its completion after the last is parsed.
Rule 2: an answer is understood by the service file's words and nothing else.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onecharge.history.outcomes import MEANING, Outcome, classify
from onecharge.redaction import redacted
from onecharge.service_file import Charge, Request, found
from onecharge.templates import filled, filled_text
from simulator.core.journal import Entry

_EXCERPT = 500


@dataclass
class Order:
    """A merchant's intent to be paid once, and how far its customer has come."""

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

    def __repr__(self) -> str:
        return f"<Order {self.reference} {self.amount_minor} {self.currency} {self.outcome}>"

    @property
    def settled(self) -> bool:
        """Whether the customer has had a definite answer."""
        return self.outcome is not None and not MEANING[self.outcome].open

    def values(self) -> dict[str, Any]:
        """Return what request templates may name."""
        return {
            "key": self.key,
            "order": self.reference,
            "amount_minor": self.amount_minor,
            "currency": self.currency,
            "customer": self.customer,
            "tenant": self.tenant,
            "token": self.token,
        }


@dataclass(frozen=True)
class Prepared:
    """A request made from its template, ready to be sent to any instance."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None


@dataclass(frozen=True)
class Heard:
    """What came back: a status and a text, or an error; ``body`` is the text's JSON."""

    status: int | None = None
    text: str = ""
    retry_after: bool = False
    error: str | None = None

    @property
    def body(self) -> Any:
        """Return the JSON of the answer, or None if it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def prepared(request: Request, values: Mapping[str, Any]) -> Prepared:
    """Fill a request template."""
    headers = {name: filled_text(text, values) for name, text in request.headers.items()}
    body = None
    if request.json_body is not None:
        body = json.dumps(filled(request.json_body, values))
        headers.setdefault("Content-Type", "application/json")
    return Prepared(request.method, filled_text(request.path, values), headers, body)


def invocation(lane: str, order: Order, instance: str) -> Entry:
    """Return the record that a charge request is about to leave."""
    value = {
        "what": "charge",
        "attempt": next(order.attempts),
        "amount_minor": order.amount_minor,
        "currency": order.currency,
        "customer": order.customer,
        "instance": instance,
    }
    return Entry(lane, "invoke", value, order.reference, order.tenant, order.key)


def completion(lane: str, order: Order, charge: Charge, heard: Heard, cause: int) -> Entry:
    """Note on the order what its customer was told, and return the record of it."""
    answer, body = charge.answer, heard.body
    outcome = classify(
        heard.status,
        _text(found(answer.status, body)),
        heard.error,
        answer.rules(),
        retry_after=heard.retry_after,
    )
    charge_id = _text(found(answer.charge, body))
    value = {
        "what": "answer",
        "outcome": outcome,
        "status": heard.status,
        "charge": charge_id,
        "provider_charge": _text(
            found(answer.provider_charge, body) if answer.provider_charge else None
        ),
        "error": heard.error,
        "body": redacted(heard.text[: 2 * _EXCERPT])[:_EXCERPT],
    }
    if not order.settled:
        order.outcome, order.charge = outcome, charge_id or order.charge
    return Entry(
        lane, MEANING[outcome].kind, value, order.reference, order.tenant, order.key, cause
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
