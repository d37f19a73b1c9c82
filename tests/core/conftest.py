"""One line builds the world: ``provider(*rules)`` is a provider with a shop in front of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from simulator.core.deliveries import Answered, Attempt
from simulator.core.idempotency import KeyPolicy
from simulator.core.journal import Entry, Journal
from simulator.core.messages import Action, Drop, Held, HttpReply, HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.generic import IETF, Generic

SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"


@dataclass
class Shop:
    """Calls the provider, answers its webhooks and reads what it wrote down."""

    provider: Provider
    journal: Journal
    now: float = 0.0

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        account: str = "shop",
        query: tuple[tuple[str, str], ...] = (),
        more: tuple[tuple[str, str], ...] = (),
    ) -> Action:
        headers = {"authorization": f"Bearer {account}", **dict(more)}
        if key is not None:
            headers["idempotency-key"] = key
        content = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest(method, path, query, headers, content)
        [action] = self.provider.receive(request, self.now)
        return action

    def charge(
        self,
        order: str = "ord-1",
        key: str | None = "key-1",
        account: str = "shop",
        **fields: Any,
    ) -> Action:
        body = {"amount_minor": 500, "currency": "EUR", "reference": order, "customer": "cus-1"}
        return self.send("POST", "/v1/charges", body | fields, key=key, account=account)

    def resume(self, action: Action, reason: str = "released") -> Action:
        assert isinstance(action, Held)
        [after] = self.provider.resume(action.call, self.now, reason)
        return after

    def reply(self, action: Action) -> HttpReply:
        assert isinstance(action, Reply)
        return action.reply

    def status(self, action: Action) -> int:
        return self.reply(action).status

    def data(self, action: Action) -> Any:
        return json.loads(self.reply(action).body)

    def how(self, action: Action) -> str:
        assert isinstance(action, Drop)
        return action.how

    def listen(self, url: str = "http://shop.test/hook", account: str | None = None) -> None:
        self.provider.add_endpoint(url, SECRET, account)

    def news(self, status: int = 204) -> list[Attempt]:
        """Answer every attempt that is due now, and those that follow at once."""
        seen: list[Attempt] = []
        while attempts := self.provider.attempts_due(self.now):
            for attempt in attempts:
                self.provider.attempt_finished(attempt, Answered(status), self.now)
            seen += attempts
        return seen

    def captured(self, order: str | None = None) -> list[str]:
        """Return the real charges, all of them or those of one order."""
        return [posting.charge for posting in self.provider.ledger.real_charges(order)]

    def story(self) -> list[str]:
        """Return the journal as short lines."""
        return [f"{e.lane} {e.kind} {e.value['what']}" for e in self.journal.entries]

    def entries(self, what: str, kind: str | None = None) -> list[Entry]:
        found = [e for e in self.journal.entries if e.value["what"] == what]
        return [e for e in found if kind in (None, e.kind)]


Build = Callable[..., Shop]


@pytest.fixture
def provider() -> Build:
    def build(*rules: Rule, policy: KeyPolicy = IETF, **options: Any) -> Shop:
        journal = Journal()
        machine = Provider(Generic(policy), sink=journal, **options)
        machine.arm(rules)
        return Shop(machine, journal)

    return build
