"""Three plans at three prices: nothing else can be bought here, so amounts tell orders not apart.

MISTAKE=looks_before_it_charges has it make one: a key is looked for, the card is charged, and
only then the key is written down.
"""

import asyncio
import json
import os
import sqlite3
import sys
import uuid
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from standardwebhooks import Webhook, WebhookVerificationError

MISTAKE = os.environ.get("MISTAKE", "")
DATABASE = Path("plans.db")
PROVIDER = os.environ.get("PROVIDER_URL", "")
PRICES_MINOR = {1900: "solo", 4900: "team", 14900: "company"}
CURRENCY = "EUR"

SCHEMA = """
create table purchases (id text primary key, key text not null unique, wish text not null,
                        order_ref text not null, amount_minor integer not null,
                        status text not null default 'processing', charge text);
create unique index one_live_purchase on purchases (order_ref) where status <> 'failed';
create table events (id text primary key);
create table credits (charge text primary key, order_ref text not null,
                      amount_minor integer not null, event text);
"""


class Plans:
    def __init__(self, db: sqlite3.Connection, provider: ClientSession) -> None:
        self.db = db
        self.provider = provider
        self.at_work: dict[str, asyncio.Task[sqlite3.Row]] = {}

    async def buy(self, request: web.Request) -> web.Response:
        key, wish = request.headers.get("Idempotency-Key", "").strip(), await request.json()
        if not 1 <= len(key) <= 255:
            return problem(400, "an Idempotency-Key of 1 to 255 characters, please")
        if wish["price"] not in PRICES_MINOR or wish["currency"] != CURRENCY:
            return problem(400, f"our prices in {CURRENCY} are {sorted(PRICES_MINOR)}")
        if MISTAKE == "looks_before_it_charges":
            return await self.buy_carelessly(key, wish)
        purchase = self.reserved(key, wish)
        if purchase["wish"] != spelt(wish):
            return problem(422, "this key or order has bought something else")
        if purchase["status"] == "processing":
            # Whoever comes while it is being paid waits for the same end.
            task = self.at_work.get(purchase["id"])
            if task is None:
                task = asyncio.create_task(self.pay(purchase, wish["customer"]))
                self.at_work[purchase["id"]] = task
                task.add_done_callback(lambda _: self.at_work.pop(purchase["id"]))
            purchase = await asyncio.shield(task)
        return receipt(purchase)

    async def buy_carelessly(self, key: str, wish: dict[str, Any]) -> web.Response:
        purchase = self.one("select * from purchases where key = ?", key)
        if purchase is None:
            made = {"id": uuid.uuid4().hex, "order_ref": wish["order"]}
            made["amount_minor"] = wish["price"]
            status, charge = await self.charge(made, wish["customer"])
            purchase = self.settled(self.reserved(key, wish), status, charge)
        return receipt(purchase)

    def reserved(self, key: str, wish: dict[str, Any]) -> sqlite3.Row:
        """Return the purchase of this key, else the live one of this order, else a new one."""
        row = (uuid.uuid4().hex, key, spelt(wish), wish["order"], wish["price"])
        with self.db:
            self.db.execute(
                """insert into purchases (id, key, wish, order_ref, amount_minor)
                   values (?, ?, ?, ?, ?) on conflict do nothing""",
                row,
            )
        found = self.one(
            """select * from purchases where key = ? or (order_ref = ? and status <> 'failed')
               order by key = ? desc""",
            key,
            wish["order"],
            key,
        )
        assert found is not None
        return found

    async def pay(self, purchase: sqlite3.Row, customer: str) -> sqlite3.Row:
        status, charge = await self.charge(dict(purchase), customer)
        if status == "processing":
            status, charge = await self.looked_up(purchase["order_ref"])
        return self.settled(purchase, status, charge)

    async def charge(self, purchase: dict[str, Any], customer: str) -> tuple[str, str | None]:
        body = {"amount_minor": purchase["amount_minor"], "currency": CURRENCY}
        body |= {"reference": purchase["order_ref"], "customer": customer}
        headers = {"Idempotency-Key": f"purchase-{purchase['id']}"}
        try:
            async with self.provider.post(
                f"{PROVIDER}/v1/charges", json=body, headers=headers
            ) as answer:
                said = await answer.json()
                if answer.status == 402:
                    return "failed", None
                if answer.status == 201:
                    return await self.state_of(said)
        except (ClientError, TimeoutError, ValueError, KeyError, TypeError):
            pass
        return "processing", None

    async def state_of(self, charge: dict[str, Any]) -> tuple[str, str | None]:
        """Say how a charge stands; a bank that takes its time is asked about it again."""
        if charge["status"] == "pending":
            async with self.provider.get(f"{PROVIDER}/v1/charges/{charge['id']}") as answer:
                charge = await answer.json()
        if charge["status"] == "captured":
            return "active", charge["id"]
        return ("failed" if charge["status"] == "declined" else "processing"), None

    async def looked_up(self, order_ref: str) -> tuple[str, str | None]:
        try:
            async with self.provider.get(
                f"{PROVIDER}/v1/charges", params={"reference": order_ref}
            ) as answer:
                for charge in (await answer.json())["data"]:
                    if charge["status"] == "captured":
                        return "active", charge["id"]
        except (ClientError, TimeoutError, ValueError, KeyError, TypeError):
            pass
        return "processing", None

    def settled(self, purchase: sqlite3.Row, status: str, charge: str | None) -> sqlite3.Row:
        with self.db:
            if charge is not None:
                self.book(purchase["order_ref"], charge, purchase["amount_minor"])
            elif status == "failed":
                self.db.execute(
                    "update purchases set status = 'failed' where id = ? and status <> 'active'",
                    (purchase["id"],),
                )
        now = self.one("select * from purchases where id = ?", purchase["id"])
        assert now is not None
        return now

    def book(
        self, order_ref: str, charge: str, amount_minor: int, event: str | None = None
    ) -> None:
        """Credit a charge once, whoever tells of it first, and make its purchase active."""
        self.db.execute(
            "insert into credits values (?, ?, ?, ?) on conflict do nothing",
            (charge, order_ref, amount_minor, event),
        )
        self.db.execute(
            """update purchases set status = 'active', charge = ? where id = (
                 select id from purchases where order_ref = ?
                 order by status = 'active' desc, status = 'processing' desc limit 1)
               and status <> 'active'""",
            (charge, order_ref),
        )

    async def hear(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            news = Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, dict(request.headers))
        except WebhookVerificationError:
            raise web.HTTPUnauthorized from None
        event = request.headers["webhook-id"]
        with self.db:
            self.db.execute("insert into events values (?) on conflict do nothing", (event,))
            if news["type"] == "charge.captured":
                charge = news["data"]["charge"]
                self.book(charge["reference"], charge["id"], charge["amount_minor"], event)
        return web.Response()

    def one(self, query: str, *values: Any) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return row


def spelt(wish: dict[str, Any]) -> str:
    return json.dumps([wish["order"], wish["price"], wish["currency"], wish["customer"]])


def receipt(purchase: sqlite3.Row) -> web.Response:
    statuses = {"active": 200, "failed": 402, "processing": 202}
    said = {name: purchase[name] for name in ("id", "status", "charge")}
    said["plan"] = PRICES_MINOR[purchase["amount_minor"]]
    return web.json_response(said, status=statuses[purchase["status"]])


def problem(status: int, says: str) -> web.Response:
    return web.json_response({"error": {"message": says}}, status=status)


async def plans() -> web.Application:
    db = sqlite3.connect(DATABASE)
    db.row_factory = sqlite3.Row
    provider = ClientSession(
        headers={"Authorization": "Bearer plans"}, timeout=ClientTimeout(total=1)
    )
    service = Plans(db, provider)
    app = web.Application()
    app.add_routes(
        [
            web.get("/", lambda _: web.Response(text="Plans!")),
            web.post("/buy", service.buy),
            web.post("/webhooks", service.hear),
        ]
    )
    app.on_cleanup.append(lambda _: provider.close())
    return app


if __name__ == "__main__":
    if sys.argv[1:] == ["init"]:
        DATABASE.unlink(missing_ok=True)
        sqlite3.connect(DATABASE).executescript(SCHEMA)
    else:
        web.run_app(plans(), host="127.0.0.1", port=int(os.environ["PORT"]), print=None)
