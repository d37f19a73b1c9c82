"""A provider on real sockets, a shop that listens to its webhooks, and a caller for both."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import ClientSession, web
from standardwebhooks import Webhook, WebhookVerificationError

from simulator.catalogue import rules_from
from simulator.core.journal import Entry, Journal
from simulator.gates import HeldCall
from simulator.server import Simulator

PATIENCE_S = 60.0  # how long a test waits for what must come; it is never waited for in full
SECRET = "whsec_" + base64.b64encode(b"a secret of the shop").decode()


class WatchedJournal(Journal):
    """A journal that can be waited on."""

    def __init__(self) -> None:
        super().__init__()
        self._news: list[asyncio.Future[None]] = []

    def __call__(self, entry: Entry) -> int:
        index = super().__call__(entry)
        for future in self._news:
            if not future.done():
                future.set_result(None)
        self._news.clear()
        return index

    def find(self, kind: str, **value: object) -> list[Entry]:
        return [
            entry
            for entry in self.entries
            if entry.kind == kind and value.items() <= dict(entry.value).items()
        ]

    async def seen(self, kind: str, count: int = 1, **value: object) -> list[Entry]:
        """Wait until so many such entries exist."""
        async with asyncio.timeout(PATIENCE_S):
            while len(found := self.find(kind, **value)) < count:
                future = asyncio.get_running_loop().create_future()
                self._news.append(future)
                await future
        return found


@dataclass
class Shop:
    """A webhook endpoint: verifies by the official library, answers as it is told."""

    url: str = ""
    events: list[str] = field(default_factory=list)
    genuine: list[bool] = field(default_factory=list)
    most_at_once: int = 0
    statuses: list[int] = field(default_factory=list)  # the next answers; then always 204
    before_answer: Callable[[], Awaitable[object]] | None = None
    _now: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        body = await request.read()
        self.events.append(request.headers["webhook-id"])
        self.genuine.append(_is_genuine(body, dict(request.headers)))
        for _ in range(20):  # room for another one to come in
            await asyncio.sleep(0)
        if self.before_answer is not None:
            await self.before_answer()
        self._now -= 1
        status = self.statuses.pop(0) if self.statuses else 204
        headers = {"Location": self.url} if status == 307 else {}
        return web.Response(status=status, headers=headers)


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]  # names in any case
    data: Any


@dataclass
class World:
    simulator: Simulator
    http: ClientSession
    shop: Shop
    journal: WatchedJournal
    parked: list[HeldCall] = field(default_factory=list)

    def arm(self, *tables: dict[str, object]) -> None:
        self.simulator.arm(rules_from(tables))

    def listen(self) -> None:
        """Let the shop be told of events."""
        self.simulator.add_endpoint(self.shop.url, SECRET)

    async def charge(self, order: str = "ord-1", key: str | None = None) -> Answer:
        return await self.call(
            "POST",
            "/v1/charges",
            {"amount_minor": 500, "currency": "EUR", "reference": order, "customer": "cus-1"},
            {"Authorization": "Bearer shop", "Idempotency-Key": key or f"key-{order}"},
        )

    async def call(
        self,
        method: str,
        path: str,
        data: object = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        url = self.simulator.url() + path
        async with self.http.request(method, url, json=data, headers=headers) as answer:
            is_json = "json" in answer.content_type
            return Answer(
                answer.status,
                answer.headers,
                await answer.json(content_type=None) if is_json else await answer.text(),
            )

    @property
    def charged(self) -> list[str | None]:
        """The orders of all real charges, as the ledger has them."""
        return [posting.reference for posting in self.simulator.provider.ledger.real_charges()]

    async def hold_one(self) -> HeldCall:
        """Wait until a call is parked."""
        await self.journal.seen("park")
        return self.parked[-1]


Start = Callable[..., Awaitable[World]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start a simulator with these options, and everything around it."""
    async with AsyncExitStack() as stack:

        async def start_one(**options: Any) -> World:
            journal = WatchedJournal()
            ports = options.pop("ports", None)
            simulator = Simulator(**({"sink": journal} | options))
            await simulator.start(ports=ports)
            stack.push_async_callback(simulator.stop)
            shop = Shop()
            runner = web.ServerRunner(web.Server(shop.handle), shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            shop.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhooks"
            http = await stack.enter_async_context(ClientSession())
            world = World(simulator, http, shop, journal)
            simulator.gates.on_park.append(world.parked.append)
            return world

        yield start_one


@pytest.fixture
async def world(start: Start) -> World:
    return await start()


def _is_genuine(body: bytes, headers: dict[str, str]) -> bool:
    try:
        Webhook(SECRET).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True
