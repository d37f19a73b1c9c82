"""A charge service in a few lines that a control is played to, with one thing wrong or none."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from onecharge.control import clean_control
from onecharge.service_file import read_service_file
from onecharge.world.ports import free_port
from onecharge.world.world import standing

FILE = """
[service]
name = "tiny"
urls = ["{url}"]

[provider]
dialect = "generic"
listen = "{listen}"

[charge]
path = "/pay"
headers = {{ Idempotency-Key = "{{key}}" }}
json = {{ order = "{{order}}", cents = "{{amount_minor}}", who = "{{customer}}" }}

[read]
path = "/sales/{{order}}"
status = "$.status"
charge = "$.id"

[effects]
path = "/sales/{{order}}"
each = "$.credits[*]"
amount_minor = "$.cents"

[webhook]
path = "/news"

[timing]
answers_within_s = {within_s}

[capabilities]
refunds = false
"""

Sale = dict[str, Any]
Change = tuple[str, str]

POLL: Change = ("[read]", '[charge.poll]\npath = "/status/{order}"\nevery_ms = 10\n\n[read]')
PRICES: Change = ("[charge]", "[orders]\namounts = [500]\n\n[charge]")
TOKEN: Change = ("headers = {", 'headers = { Authorization = "Bearer {token}",')
LATER: Change = ("[timing]", "[timing]\ncalls_provider_within_s = 30")
REFUNDS: Change = (
    "[capabilities]\nrefunds = false",
    """[refund]
path = "/sales/{order}/refund"
headers = { Idempotency-Key = "{key}" }
json = { cents = "{amount_minor}" }
""",
)
GIVEN: Change = ('charge = "$.id"', 'charge = "$.id"\nrefunded_minor = "$.given"')
CAPTURES: Change = (
    "[read]",
    '[capture]\npath = "/sales/{order}/capture"\njson = { cents = "{amount_minor}" }\n\n[read]',
)


def succeeded(_: Sale) -> web.Response:
    return web.json_response({"status": "succeeded", "id": "pay-1"}, status=201)


def answers(status: int, body: object = None, **headers: str) -> Callable[[Sale], web.Response]:
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda _: web.Response(status=status, text=text, headers=headers)


def all_told(sale: Sale) -> dict[str, Any]:
    body = {"amount_minor": sale["cents"], "currency": "EUR"}
    return body | {"reference": sale["order"], "customer": sale["who"]}


def authorised(sale: Sale) -> dict[str, Any]:
    return all_told(sale) | {"capture": False}


def booked(sale: Sale) -> Sale:
    return {"status": "succeeded", "credits": [{"cents": sale["cents"]}], "given": sale["given"]}


@dataclass
class Tiny:
    """A charge service that is right, but for what is said."""

    provider_path: str = "/v1/charges"
    token: str = "shop"
    passes_on: Callable[[Sale], dict[str, Any]] = all_told
    charges: int = 1
    answers: Callable[[Sale], web.Response] = succeeded
    hears: int = 200
    books: Callable[[Sale], Sale] = booked
    gives_back: Callable[[int], list[int]] = lambda cents: [cents]
    operates: Callable[[Sale], web.Response] = succeeded
    behind: bool = False
    """Whether it answers first, and calls the provider when it has been asked for the outcome."""

    provider_url: str = ""
    sales: dict[str, Sale] = field(default_factory=dict)
    work: set["asyncio.Task[None]"] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        match request.path.split("/"):
            case ["", ""]:
                return web.Response()
            case ["", "pay"]:
                sale: Sale = json.loads(await request.read())
                charging = asyncio.create_task(self.charge(sale))
                self.work.add(charging)
                if not self.behind:
                    await charging
                return self.answers(sale)
            case ["", "sales", order]:
                return web.json_response(self.books(self.sales[order]))
            case ["", "sales", order, ("refund" | "capture") as what]:
                return await self.operate(self.sales[order], what, await request.read())
            case ["", "status", order] if order in self.sales:
                return succeeded({})
        return web.Response(status=self.hears if request.path == "/news" else 404)

    async def operate(self, sale: Sale, what: str, body: bytes) -> web.Response:
        at = f"/v1/charges/{sale['charge']}"
        if what == "capture":
            await self.ask(f"{at}/capture", {})
        else:
            for cents in self.gives_back(json.loads(body)["cents"]):
                await self.ask(f"{at}/refunds", {"amount_minor": cents})
                sale["given"] += cents
        return self.operates(sale)

    async def charge(self, sale: Sale) -> None:
        if sale["order"] in self.sales:
            return
        for _ in range(self.charges):
            sale["charge"] = (await self.ask(self.provider_path, self.passes_on(sale))).get("id")
        self.sales[sale["order"]] = sale | {"given": 0}

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Idempotency-Key": f"k-{next(self.numbers)}",
        }
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(self.provider_url + path, json=body) as answer,
        ):
            told: dict[str, Any] = await answer.json(content_type=None)
            return told


async def control(
    folder: Path, tiny: Tiny, *changes: Change, within_s: float = 60, heard: list[str] | None = None
) -> list[str]:
    """Run the clean control on a service, with its file changed; return the steps it told."""
    steps: list[str] = [] if heard is None else heard
    async with AsyncExitStack() as stack:
        runner = web.ServerRunner(web.Server(tiny.handle))
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url, listen = f"http://127.0.0.1:{runner.addresses[0][1]}", f"127.0.0.1:{free_port()}"
        text = FILE.format(url=url, listen=listen, within_s=within_s)
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / "onecharge.toml").write_text(text)
        tiny.provider_url = f"http://{listen}"
        service_file = read_service_file(folder / "onecharge.toml")
        world = await stack.enter_async_context(standing(service_file, folder / "run", seed=1))
        await clean_control(world, 1, lambda step: steps.append(unmarked(step)))
    return steps


def unmarked(text: str) -> str:
    """Take out what tells the ids of this run from those of others: the service is attached."""
    return re.sub(r"(ch_)[0-9a-f]{8}x", r"\1", text)
