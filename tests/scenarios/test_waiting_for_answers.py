"""What is waited for: every definite answer that there can be, and no other.

A shop in a few lines runs beside the harness and is attached to: it authorises, and says by event
or by reply that it did.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from onecharge.history.outcomes import Outcome
from onecharge.insistence import unanswered
from onecharge.phases import Play, perform
from onecharge.press import Operation, Order
from onecharge.scenario_file import Scenario, ScenarioFile
from onecharge.service_file import ServiceFile
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.ports import free_port
from onecharge.world.world import standing

BOUND_S = 6.0
KEYED = {"Idempotency-Key": "{key}"}
ONCE = {"attempts": 1}


def order(outcome: Outcome, *operations: Operation) -> Order:
    made = Order(1, "ord-1", "key-1", 1_001, "EUR", "cus-1", "shop", "token", outcome)
    made.operations += operations
    return made


def test_a_refund_that_was_told_to_come_again_later_is_waited_for() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")
    done = Operation("refund", "key-1-other", 1_001, "ok")

    assert unanswered(order("ok", refund, done)) == [refund]


def test_whoever_was_declined_waits_for_no_money_back() -> None:
    refund = Operation("refund", "key-1-refund", 1_001, "in_flight")

    assert unanswered(order("declined", refund)) == []


@dataclass
class Shop:
    """It charges each key once; ``hears_first`` says that it believes nothing but events.

    The first ``deaf`` deliveries find nobody.
    """

    hears_first: bool = False
    captures: bool = False
    deaf: int = 0
    provider: str = ""
    sales: dict[str, dict[str, Any]] = field(default_factory=dict)

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
                event = await request.json()
                if event["type"] == "charge.captured":
                    self.sales[event["data"]["charge"]["reference"]]["status"] = "succeeded"
        return web.Response()

    async def pay(self, key: str, wish: dict[str, Any]) -> web.Response:
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
async def played(shop: Shop, folder: Path, **plan: Any) -> AsyncIterator[tuple[Play, int]]:
    """Play a scenario to the shop, up to the last reading; and say where its healing began."""
    runner = web.ServerRunner(web.Server(shop))
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
                "provider": {"dialect": "generic", "listen": listen, "key": "shop"},
                "charge": {"path": "/pay", "headers": KEYED, "json": wish},
                "capture": capture,
                "read": {"path": "/sales/{order}", "status": "$.status", "charge": "$.charge"},
                "webhook": {"path": "/news"},
                "capabilities": {"effects": False},
            }
        )
        scenario = ScenarioFile.model_validate({"title": "a", "why": "b", "orders": 2, **plan})
        async with standing(file, folder, seed=1) as world:
            play = Play(world, Scenario("mine", folder / "mine.toml", scenario), 1, BOUND_S)
            await perform(world, [play], 1)
            healing = next(r.index for r in play.recorder.records if r.value.get("phase") == "heal")
            yield play, healing
    finally:
        await runner.cleanup()


def judged(play: Play) -> ScenarioVerdict:
    return judge_scenario(play.recorder.records, repeat="")


FAITHFUL = {"exercises": ["replays_are_faithful"], "customer": ONCE}


async def test_whoever_settles_has_been_told_before_the_next_step(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "settle"}, {"do": "press"}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, **FAITHFUL) as (
        play,
        healing,
    ):
        verdict = judged(play)

    told = [r for r in play.recorder.records if r.value.get("outcome") == "ok"]
    assert verdict.verdict == "holds", verdict.reasons
    assert len([r for r in told if r.index < healing]) >= 4


async def test_without_a_definite_answer_a_replay_shows_nothing(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "press"}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, **FAITHFUL) as (
        play,
        _,
    ):
        verdict = judged(play)

    assert verdict.verdict == "unknown"
    assert any("replays_are_faithful" in reason for reason in verdict.reasons)


async def test_who_is_told_late_has_the_money_taken_all_the_same(tmp_path: Path) -> None:
    lost = [{"fault": "lose_reply", "operation": "charge.create", "times": 2}]

    async with played(Shop(captures=True), tmp_path, customer=ONCE, faults=lost) as (play, healing):
        verdict = judged(play)

    captured = [r for r in play.recorder.records if r.what == "charge.captured"]
    assert verdict.verdict == "holds", verdict.reasons
    assert [r.index > healing for r in captured] == [True, True]


async def test_a_day_passes_once_everybody_has_been_told(tmp_path: Path) -> None:
    steps = [{"do": "pay"}, {"do": "advance", "hours": 25}]

    async with played(Shop(hears_first=True, deaf=2), tmp_path, steps=steps, customer=ONCE) as (
        play,
        _,
    ):
        verdict = judged(play)

    records = play.recorder.records
    later = next(r.index for r in records if r.value.get("rule") == "advance")
    assert verdict.verdict == "holds", verdict.reasons
    assert {r.order for r in records if r.value.get("outcome") == "ok" and r.index < later} == {
        order.reference for order in play.cast.own
    }
