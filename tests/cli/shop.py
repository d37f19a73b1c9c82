"""A charge service of somebody else's: one process, one dictionary, right as far as it goes.

MISTAKE in its environment has it make one: ``charges_every_press`` (and answers the same),
``loses_patience`` after two calls without an answer (and takes the order for another one),
``loses_count`` while others pay as well (and charges twice), ``never_calls`` the provider,
``listens_elsewhere``, ``starts_once`` and never again.
With BLURTS_OUT in its environment it tells everybody its own key and other people's card numbers.
"""

import asyncio
import os
import sys
import uuid
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

STARTED = Path("started")
MISTAKE = os.environ.get("MISTAKE", "")
CHARGES = os.environ.get("PROVIDER_URL", "") + "/v1/charges"
PATIENCE = aiohttp.ClientTimeout(total=1)
# In pieces, so that nobody's scanner takes it for what it looks like.
KEY = "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc" if os.environ.get("BLURTS_OUT") else "shop"
SECRETS = f"{KEY} 4539578763621486 5425-2334-3010-9903" if os.environ.get("BLURTS_OUT") else ""


class Shop:
    def __init__(self) -> None:
        self.counters: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.calls: Counter[str] = Counter()
        self.receipts: dict[str, Any] = {}
        self.credits: dict[str, dict[str, int]] = defaultdict(dict)  # order: charge: cents

    async def pay(self, request: web.Request) -> web.Response:
        key, sale = request.headers["Idempotency-Key"], await request.json()
        sys.stdout.write(f"{request.path} {SECRETS}\n")
        sys.stdout.flush()
        async with self.counters[key]:
            if key not in self.receipts or MISTAKE == "charges_every_press":
                self.calls[key] += 1
                again = key in self.receipts or (
                    MISTAKE == "loses_patience" and self.calls[key] > 2
                )
                upstream_key = uuid.uuid4().hex if again else key
                charge = await self.charge(upstream_key, sale)
                if MISTAKE == "loses_count" and sum(c.locked() for c in self.counters.values()) > 1:
                    await self.charge(uuid.uuid4().hex, sale)
                if charge is None:
                    return web.json_response({"state": "unclear"}, status=202)
                self.credits[sale["order"]][charge] = sale["cents"]
                receipt = {"receipt": charge, "note": SECRETS, "serial": f"{charge} {SECRETS}"}
                self.receipts.setdefault(key, {"state": "paid", **receipt})
        return web.json_response(self.receipts[key])

    async def charge(self, upstream_key: str, sale: dict[str, Any]) -> str | None:
        if MISTAKE == "never_calls":
            return "ch_of_our_own"
        upstream_key = f"{upstream_key} {SECRETS}".strip()
        headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": upstream_key}
        body = {"amount_minor": sale["cents"], "currency": "EUR"}
        body |= {"reference": sale["order"], "customer": f"{sale['who']} {SECRETS}".strip()}
        body |= {"metadata": {"note": SECRETS}} if SECRETS else {}
        try:
            async with (
                aiohttp.ClientSession(timeout=PATIENCE, headers=headers) as provider,
                provider.post(CHARGES, json=body) as answer,
            ):
                return str((await answer.json())["id"]) if answer.status == 201 else None
        except (aiohttp.ClientError, TimeoutError):
            return None

    async def hear(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            news = Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, dict(request.headers))
        except WebhookVerificationError:
            raise web.HTTPUnauthorized from None
        charge = news["data"]["charge"]
        self.credits[charge["reference"]][charge["id"]] = charge["amount_minor"]
        return web.Response(text=SECRETS, headers={"X-Note": SECRETS})

    async def tell(self, request: web.Request) -> web.Response:
        booked = self.credits[request.match_info["order"]]
        credited = [{"charge": charge, "cents": cents} for charge, cents in booked.items()]
        return web.json_response({"state": "paid" if booked else "unclear", "credits": credited})


shop = Shop()
app = web.Application()
app.add_routes([web.post("/pay", shop.pay), web.post("/news", shop.hear)])
app.add_routes([web.get("/sales/{order}", shop.tell)])
if MISTAKE == "starts_once":
    STARTED.touch(exist_ok=False)
port = 0 if MISTAKE == "listens_elsewhere" else int(os.environ["PORT"])
web.run_app(app, host="127.0.0.1", port=port, print=None)
