"""Donations: the browser pays at the provider, and only the provider's event says that it did.

The server makes a payment intent and hands its client secret to the browser. An event is answered
200 as soon as it is written down; a clerk books it a while later (BOOKS_AFTER_S).

MISTAKE=believes_every_event has it make one: an event that was delivered twice is booked twice.
"""

import asyncio
import hmac
import json
import os
import sqlite3
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web

MISTAKE = os.environ.get("MISTAKE", "")
BOOKS_AFTER_S = float(os.environ.get("BOOKS_AFTER_S", "5"))
DATABASE = Path("donations.db")
PROVIDER = os.environ.get("PROVIDER_URL", "")
SIGNED_WITHIN_S = 300

SCHEMA = """
create table donations (id text primary key, key text not null unique, wish text not null,
                        order_ref text not null unique, amount_minor integer not null,
                        status text not null default 'open', intent text, secret text);
create table inbox (number integer primary key, event text not null, intent text not null,
                    due_s real not null, booked integer not null default 0);
create unique index heard_once on inbox (event);
create table credits (number integer primary key, intent text not null, order_ref text not null,
                      amount_minor integer not null, event text not null);
create unique index credited_once on credits (intent);
"""
CARELESS = "drop index heard_once; drop index credited_once;"


class Donations:
    def __init__(self, db: sqlite3.Connection, provider: ClientSession) -> None:
        self.db = db
        self.provider = provider

    async def donate(self, request: web.Request) -> web.Response:
        key, wish = request.headers.get("Idempotency-Key", "").strip(), await request.json()
        if not 1 <= len(key) <= 255:
            return web.json_response({"error": "a key of 1 to 255 characters"}, status=400)
        text = json.dumps([wish[name] for name in ("order", "amount", "currency", "donor")])
        row = (uuid.uuid4().hex, key, text, wish["order"], wish["amount"])
        with self.db:
            self.db.execute(
                """insert into donations (id, key, wish, order_ref, amount_minor)
                   values (?, ?, ?, ?, ?) on conflict do nothing""",
                row,
            )
        query = "select * from donations where key = ? or order_ref = ? order by key = ? desc"
        donation = self.one(query, key, wish["order"], key)
        assert donation is not None
        if donation["wish"] != text:
            return web.json_response({"error": "this key gave something else"}, status=422)
        if donation["intent"] is None:
            donation = await self.with_an_intent(donation, wish)
        status = 202 if donation["intent"] is None else 201
        return web.json_response(told(donation), status=status)

    async def with_an_intent(self, donation: sqlite3.Row, wish: dict[str, Any]) -> sqlite3.Row:
        """Have the provider make an intent, the same one however often it is asked for."""
        fields = {"amount": wish["amount"], "currency": wish["currency"].lower()}
        fields |= {"metadata[order_id]": wish["order"], "metadata[donor]": wish["donor"]}
        headers = {"Idempotency-Key": f"donation-{donation['id']}"}
        try:
            async with self.provider.post(
                f"{PROVIDER}/v1/payment_intents", data=fields, headers=headers
            ) as answer:
                intent = await answer.json()
                made = (intent["id"], intent["client_secret"], donation["id"])
        except (ClientError, TimeoutError, ValueError, KeyError, TypeError):
            return donation
        with self.db:
            self.db.execute("update donations set intent = ?, secret = ? where id = ?", made)
        now = self.one("select * from donations where id = ?", donation["id"])
        assert now is not None
        return now

    async def show(self, request: web.Request) -> web.Response:
        donation = self.one("select * from donations where id = ?", request.match_info["id"])
        if donation is None:
            raise web.HTTPNotFound
        return web.json_response(told(donation))

    async def hear(self, request: web.Request) -> web.Response:
        """Write an event down, and say so: what it is about has time."""
        body = await request.read()
        if not signed(body, request.headers.get("Stripe-Signature", "")):
            raise web.HTTPBadRequest(text="who says so?")
        event = json.loads(body)
        if event["type"] == "payment_intent.succeeded":
            row = (event["id"], event["data"]["object"]["id"], time.time() + BOOKS_AFTER_S)
            with self.db:
                self.db.execute(
                    """insert into inbox (event, intent, due_s) values (?, ?, ?)
                       on conflict do nothing""",
                    row,
                )
        return web.Response()

    async def clerk(self) -> None:
        """Book what is due, one event at a time, each with its credit in one transaction."""
        while True:
            due = self.db.execute(
                "select * from inbox where not booked and due_s <= ?", (time.time(),)
            ).fetchall()
            for news in due:
                with self.db:
                    self.book(news)
            await asyncio.sleep(0.05)

    def book(self, news: sqlite3.Row) -> None:
        self.db.execute(
            """insert into credits (intent, order_ref, amount_minor, event)
               select intent, order_ref, amount_minor, ? from donations where intent = ?
               on conflict do nothing""",
            (news["event"], news["intent"]),
        )
        self.db.execute("update donations set status = 'paid' where intent = ?", (news["intent"],))
        self.db.execute("update inbox set booked = 1 where number = ?", (news["number"],))

    async def show_order(self, request: web.Request) -> web.Response:
        donation = self.one(
            "select * from donations where order_ref = ?", request.match_info["order"]
        )
        if donation is None:
            raise web.HTTPNotFound
        booked = self.db.execute("select * from credits where intent = ?", (donation["intent"],))
        return web.json_response(told(donation) | {"credits": [dict(row) for row in booked]})

    def one(self, query: str, *values: Any) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return row


def signed(body: bytes, header: str) -> bool:
    """Check a signature as the provider's documentation says, and that it is not an old one."""
    parts = [part.partition("=") for part in header.split(",")]
    said_at = next((value for name, _, value in parts if name == "t"), "")
    if not said_at.isdigit() or abs(time.time() - int(said_at)) > SIGNED_WITHIN_S:
        return False
    secret = os.environ["WEBHOOK_SECRET"].encode()
    right = hmac.digest(secret, said_at.encode() + b"." + body, "sha256").hex()
    return any(hmac.compare_digest(right, value) for name, _, value in parts if name == "v1")


def told(donation: sqlite3.Row) -> dict[str, Any]:
    return {
        "id": donation["id"],
        "status": donation["status"],
        "amount_minor": donation["amount_minor"],
        "intent": donation["intent"],
        "client_secret": donation["secret"],
    }


async def donations() -> web.Application:
    db = sqlite3.connect(DATABASE)
    db.row_factory = sqlite3.Row
    provider = ClientSession(
        headers={"Authorization": f"Bearer {os.environ['PROVIDER_KEY']}"},
        timeout=ClientTimeout(total=1),
    )
    service = Donations(db, provider)
    clerk = asyncio.create_task(service.clerk())
    app = web.Application(client_max_size=4 * 1024**2)
    app.add_routes(
        [
            web.get("/", lambda _: web.Response(text="Thank you!")),
            web.post("/donations", service.donate),
            web.get("/donations/{id}", service.show),
            web.get("/orders/{order}", service.show_order),
            web.post("/webhooks", service.hear),
        ]
    )

    async def clean_up(_: web.Application) -> None:
        clerk.cancel()
        await asyncio.gather(clerk, return_exceptions=True)
        await provider.close()

    app.on_cleanup.append(clean_up)
    return app


if __name__ == "__main__":
    if sys.argv[1:] == ["init"]:
        DATABASE.unlink(missing_ok=True)
        careless = CARELESS if MISTAKE == "believes_every_event" else ""
        sqlite3.connect(DATABASE).executescript(SCHEMA + careless)
    else:
        web.run_app(donations(), host="127.0.0.1", port=int(os.environ["PORT"]), print=None)
