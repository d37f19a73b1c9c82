"""A shop that speaks any dialect: what it says is written by the dialect itself."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from simulator.catalogue import dialects
from simulator.core.calls import Call, ChargeParams, CreateCharge, EventParams, Operation
from simulator.core.deliveries import Answered, Attempt
from simulator.core.journal import Entry, Journal
from simulator.core.messages import Action, Drop, Held, HttpReply, HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.rules import Rule

SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"
SHOP, NEIGHBOUR = "sk_test_shop", "sk_test_neighbour"


@dataclass
class AnyShop:
    """Calls a provider in its dialect and answers its webhooks."""

    provider: Provider
    journal: Journal
    now: float = 0.0
    calls: int = 0
    sent: list[HttpRequest] = field(default_factory=list)

    def ask(
        self, params: ChargeParams | EventParams, key: str | None = None, account: str = SHOP
    ) -> Action:
        request = self.provider.dialect.ask(params, account, key)
        assert request is not None, f"there is no such call: {params}"
        self.sent.append(request)
        self.calls += 1
        [action, *_] = self.provider.receive(request, self.now)
        return action

    def charge(self, order: str, account: str = SHOP) -> Action:
        return self.ask(CreateCharge(500, "EUR", order, "cus-1"), f"key-{order}", account)

    def read_as(self, request: HttpRequest, order: str | None) -> Call:
        """Return the call that the provider makes of the latest request."""
        read = self.provider.dialect.read(request)
        assert isinstance(read, Operation), read
        return Call(
            f"call-{self.calls}",
            read.params.operation,
            read.account,
            read.key,
            order,
            read.params,
            read.fingerprint,
            request,
            0,
        )

    def live(self, action: Action) -> tuple[HttpReply | None, list[Attempt]]:
        """Let a call come to its end, answer the news, and return both; a drop is no reply."""
        told = self.news()
        while isinstance(action, Held):
            [action, *_] = self.provider.resume(action.call, self.now, "released")
            told += self.news()
        assert isinstance(action, Reply | Drop)
        return (action.reply if isinstance(action, Reply) else None), told

    def news(self) -> list[Attempt]:
        seen: list[Attempt] = []
        while attempts := self.provider.attempts_due(self.now):
            for attempt in attempts:
                self.provider.message(attempt, 1_800_000_000.0)
                self.provider.attempt_finished(attempt, Answered(200), self.now)
            seen += attempts
        return seen

    def captured(self, order: str | None = None) -> list[str]:
        return [posting.charge for posting in self.provider.ledger.real_charges(order)]

    def entries(self, kind: str, what: str, **value: object) -> list[Entry]:
        wanted = {"what": what} | value
        return [
            entry
            for entry in self.journal.entries
            if entry.kind == kind and wanted.items() <= dict(entry.value).items()
        ]


Open = Callable[..., AnyShop]


@pytest.fixture
def shop_at() -> Open:
    def open_at(dialect: str, *rules: Rule) -> AnyShop:
        journal = Journal()
        provider = Provider(dialects()[dialect], sink=journal)
        provider.add_endpoint("http://shop.test/hook", SECRET)
        shop = AnyShop(provider, journal)
        provider.arm(rules)
        return shop

    return open_at
