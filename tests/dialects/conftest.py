"""One line builds the world: ``shop()`` is a Stripe with a merchant in front of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest

from simulator.core.deliveries import Answered, Attempt
from simulator.core.journal import Entry, Journal
from simulator.core.messages import Action, HttpReply, HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.stripe import Stripe

SECRET = "whsec_of_the_shop"


@dataclass
class Told:
    """An answer, read."""

    status: int
    headers: dict[str, str]
    data: Any

    @property
    def error(self) -> Any:
        return self.data["error"]


@dataclass
class Merchant:
    """Calls the provider as a server or a browser would, and listens to its webhooks."""

    provider: Provider
    journal: Journal
    now: float = 0.0
    api_key: str = "sk_test_shop"
    headers: dict[str, str] = field(default_factory=dict)

    def act(self, method: str, path: str, fields: Any = None, *, key: str | None = None) -> Action:
        headers = {"authorization": f"Bearer {self.api_key}", **self.headers}
        headers["content-type"] = "application/x-www-form-urlencoded"
        if key is not None:
            headers["idempotency-key"] = key
        pairs = list(flat(fields or {}))
        query = tuple(pairs) if method in {"GET", "DELETE"} else ()
        body = b"" if query or not pairs else urlencode(pairs).encode()
        request = HttpRequest(method, f"/v1/{path}", query, headers, body)
        [action] = self.provider.receive(request, self.now)
        return action

    def call(self, method: str, path: str, fields: Any = None, *, key: str | None = None) -> Told:
        action = self.act(method, path, fields, key=key)
        assert isinstance(action, Reply)
        return told(action.reply)

    def post(self, path: str, fields: Any = None, *, key: str | None = None) -> Told:
        return self.call("POST", path, fields, key=key)

    def get(self, path: str, fields: Any = None) -> Told:
        return self.call("GET", path, fields)

    def pay(self, method: str = "pm_card_visa", *, key: str | None = None, **fields: Any) -> Told:
        wish = {
            "amount": 500,
            "currency": "usd",
            "confirm": "true",
            "payment_method": method,
            "metadata": {"order_id": "ord-1"},
        }
        return self.post("payment_intents", wish | fields, key=key)

    def hold(self, **fields: Any) -> Any:
        """Return an intent with money on hold."""
        return self.pay(capture_method="manual", **fields).data

    def browser(self) -> "Merchant":
        return Merchant(self.provider, self.journal, self.now, "pk_test_shop")

    def stranger(self) -> "Merchant":
        return Merchant(self.provider, self.journal, self.now, "sk_test_other")

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.provider.settle_due(self.now)

    def event_types(self) -> list[str]:
        """Return the types of all events so far, oldest first, and forget nothing."""
        return [event.type for event in self.provider.events.values()]

    def news(self, status: int = 200) -> list[Attempt]:
        """Answer every attempt that is due now."""
        attempts = self.provider.attempts_due(self.now)
        for attempt in attempts:
            self.provider.attempt_finished(attempt, Answered(status), self.now)
        return attempts

    def captured(self) -> list[int]:
        return [posting.amount_minor for posting in self.provider.ledger.real_charges()]

    def entries(self, what: str) -> list[Entry]:
        return [entry for entry in self.journal.entries if entry.value["what"] == what]


def told(reply: HttpReply) -> Told:
    data = json.loads(reply.body) if reply.body else None
    return Told(reply.status, dict(reply.headers), data)


def flat(fields: Any, within: str = "") -> Any:
    """Yield nested fields as a form writes them."""
    pairs = fields.items() if isinstance(fields, dict) else enumerate(fields)
    for name, value in pairs:
        full = f"{within}[{name}]" if within else str(name)
        if isinstance(value, (dict, list)):
            yield from flat(value, full)
        else:
            yield full, str(value)


Build = Callable[..., Merchant]


@pytest.fixture
def shop() -> Build:
    def build(*rules: Rule, namespace: str = "") -> Merchant:
        journal = Journal()
        provider = Provider(Stripe(), sink=journal, namespace=namespace)
        provider.arm(rules)
        return Merchant(provider, journal)

    return build


@pytest.fixture
def merchant(shop: Build) -> Merchant:
    return shop()
