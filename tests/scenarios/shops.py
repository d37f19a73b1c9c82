"""A shop in a few lines that runs beside the harness, and scenarios that are played to it."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web

from onecharge.history.case import Claim
from onecharge.phases import Play, perform
from onecharge.scenario_file import Scenario, ScenarioFile
from onecharge.service_file import ServiceFile
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.ports import free_port
from onecharge.world.world import standing

KEYED = {"Idempotency-Key": "{key}"}


@dataclass
class Shop:
    """It charges each order once; ``hears_first`` says that it believes nothing but events.

    ``by_key`` says that it charges each key, whatever order it comes for; ``forgets`` that it has
    forgotten a key whenever one comes.

    The first ``deaf`` deliveries find nobody. ``marks_first`` says that it writes an event down,
    thinks about it for ``thinks_s``, and drops it if its sender hangs up meanwhile.
    """

    hears_first: bool = False
    marks_first: bool = False
    thinks_s: float = 0.0
    captures: bool = False
    deaf: int = 0
    by_key: bool = False
    forgets: bool = False
    provider: str = ""
    sales: dict[str, dict[str, Any]] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.path.split("/"):
            case ["", "pay"]:
                return await self.pay(request.headers["Idempotency-Key"], await request.json())
            case ["", "capture", order]:
                sale = self.sales[order]
                return await self.ask(sale, f"/v1/charges/{sale['charge']}/capture", {})
            case ["", "sales", order]:
                return web.json_response(self.sales.get(order, {}))
            case ["", "news"] if self.deaf:
                self.deaf -= 1
                return web.Response(status=503)
            case ["", "news"]:
                await self.hear(request.headers["webhook-id"], await request.json())
        return web.Response()

    async def hear(self, event_id: str, event: dict[str, Any]) -> None:
        if self.marks_first:
            if event_id in self.marked:
                return
            self.marked.add(event_id)
            await asyncio.sleep(self.thinks_s)
        if event["type"] == "charge.captured":
            self.sales[event["data"]["charge"]["reference"]]["status"] = "succeeded"

    async def pay(self, key: str, wish: dict[str, Any]) -> web.Response:
        if self.forgets:
            key = uuid4().hex
        if self.forgets or (
            self.by_key and self.sales.get(wish["reference"], {}).get("key") != key
        ):
            self.sales.pop(wish["reference"], None)
        sale = self.sales.setdefault(wish["reference"], {"key": key, "status": "pending"})
        if "charge" not in sale:
            body = wish | {"capture": not self.captures}
            answer = await self.ask(sale, "/v1/charges", body)
            if answer.status >= 400:
                return answer
            sale["charge"] = json.loads(answer.text or "")["id"]
            if not self.hears_first:
                sale["status"] = "succeeded"
        return web.json_response(sale, status=201)

    async def ask(self, sale: dict[str, Any], path: str, body: dict[str, Any]) -> web.Response:
        headers = {"Authorization": "Bearer shop", "Idempotency-Key": f"{sale['key']}{path}"}
        try:
            async with (
                aiohttp.ClientSession(headers=headers) as session,
                session.post(self.provider + path, json=body) as answer,
            ):
                text = json.dumps(await answer.json() | {"status": "succeeded"})
                return web.Response(status=answer.status, text=text)
        except aiohttp.ClientError:
            return web.Response(status=503, headers={"Retry-After": "0"})


@asynccontextmanager
async def played(
    shop: Shop,
    folder: Path,
    *,
    bound_s: float = 6.0,
    claims: Sequence[Claim] = (),
    retention_s: float | None = None,
    **plan: Any,
) -> AsyncIterator[tuple[Play, int]]:
    """Play a scenario to the shop, up to the last reading; and say where its healing began."""
    runner = web.ServerRunner(web.Server(shop, handler_cancellation=shop.marks_first))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        listen = f"127.0.0.1:{free_port()}"
        shop.provider = f"http://{listen}"
        wish = {"amount_minor": "{amount_minor}", "currency": "EUR", "reference": "{order}"}
        capture = {"path": "/capture/{order}", "headers": KEYED} if shop.captures else None
        file = ServiceFile.model_validate(
            {
                "service": {"name": "shop", "urls": [f"http://127.0.0.1:{runner.addresses[0][1]}"]},
                "provider": {
                    "dialect": "generic",
                    "listen": listen,
                    "key": "shop",
                    "retention_s": retention_s,
                },
                "charge": {"path": "/pay", "headers": KEYED, "json": wish},
                "capture": capture,
                "read": {"path": "/sales/{order}", "status": "$.status", "charge": "$.charge"},
                "webhook": {"path": "/news"},
                "capabilities": {"effects": False},
                "claims": claims,
            }
        )
        scenario = ScenarioFile.model_validate({"title": "a", "why": "b", "orders": 2, **plan})
        async with standing(file, folder, seed=1) as world:
            play = Play(world, Scenario("mine", folder / "mine.toml", scenario), 1, bound_s)
            await perform(world, [play], 1)
            healing = next(r.index for r in play.recorder.records if r.value.get("phase") == "heal")
            yield play, healing
    finally:
        await runner.cleanup()


def judged(play: Play) -> ScenarioVerdict:
    return judge_scenario(play.recorder.records, repeat="")
