"""A bookshop with accounts: whoever wants to pay logs in, fills a cart, and checks out.

The session lives in a cookie, every form carries a CSRF token, and all of it in one SQLite file.

MISTAKE=retries_with_a_new_key has it make one: when the provider does not answer, the second try
is sent under another key than the first.
"""

import asyncio
import os
import secrets
import sqlite3
import sys
import uuid
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from standardwebhooks import Webhook, WebhookVerificationError

MISTAKE = os.environ.get("MISTAKE", "")
DATABASE = Path("bookshop.db")
PROVIDER = os.environ.get("PROVIDER_URL", "")
PASSWORD = "correct horse"  # noqa: S105 - everybody's, in this shop

SCHEMA = """
create table sessions (id text primary key, token text not null, customer text);
create table carts (id text primary key, customer text not null, order_ref text not null,
                    total_minor integer not null, currency text not null);
create table payments (id text primary key, key text not null unique, cart text not null,
                       order_ref text not null, customer text not null,
                       amount_minor integer not null, currency text not null,
                       status text not null, charge text unique);
create unique index one_live_payment on payments (order_ref) where status <> 'failed';
create table events (id text primary key);
create table credits (charge text primary key, order_ref text not null,
                      amount_minor integer not null);
"""

LOGIN_PAGE = """<!doctype html>
<title>Log in</title>
<form method="post"><input type="hidden" name="csrf" value="{token}">
<input name="customer"><input name="password" type="password"><button>Log in</button></form>
"""


class Bookshop:
    """Every request, over one connection to the database."""

    def __init__(self, db: sqlite3.Connection, provider: ClientSession) -> None:
        self.db = db
        self.provider = provider
        self.tills: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def login_page(self, _: web.Request) -> web.Response:
        session, token = secrets.token_urlsafe(), secrets.token_urlsafe()
        with self.db:
            self.db.execute("insert into sessions values (?, ?, null)", (session, token))
        page = web.Response(text=LOGIN_PAGE.format(token=token), content_type="text/html")
        page.set_cookie("session", session, httponly=True)
        return page

    async def log_in(self, request: web.Request) -> web.Response:
        form = await request.post()
        before = self.session_of(request, str(form.get("csrf")))
        if form.get("password") != PASSWORD:
            raise web.HTTPForbidden(text="wrong password")
        session = secrets.token_urlsafe()  # a new one, so that nobody can prepare it
        with self.db:
            self.db.execute("delete from sessions where id = ?", (before["id"],))
            self.db.execute(
                "insert into sessions values (?, ?, ?)",
                (session, before["token"], str(form["customer"])),
            )
        home = web.Response(status=303, headers={"Location": "/"})
        home.set_cookie("session", session, httponly=True)
        return home

    async def fill_cart(self, request: web.Request) -> web.Response:
        session, wish = self.customer_of(request, posts=True), await request.json()
        cart, total_minor = uuid.uuid4().hex, int(Decimal(wish["total"]) * 100)
        row = (cart, session["customer"], wish["order"], total_minor, wish["currency"])
        with self.db:
            self.db.execute("insert into carts values (?, ?, ?, ?, ?)", row)
        return web.json_response({"cart": cart}, status=201)

    async def check_out(self, request: web.Request) -> web.Response:
        session, form = self.customer_of(request, posts=True), await request.post()
        key = str(form.get("key", "")).strip()
        if not key or len(key) > 255:
            raise web.HTTPBadRequest(text="a key of 1 to 255 characters, please")
        cart = self.one("select * from carts where id = ?", str(form.get("cart")))
        shown = (session["customer"], f"{form.get('total')}", f"{form.get('currency')}")
        if cart is None or cart["customer"] != shown[0]:
            raise web.HTTPNotFound(text="no such cart")
        if (int(Decimal(shown[1]) * 100), shown[2]) != (cart["total_minor"], cart["currency"]):
            raise web.HTTPUnprocessableEntity(text="this is not what the cart costs")
        async with self.tills[cart["order_ref"]]:
            payment = self.reserved(key, cart)
            if payment["cart"] != cart["id"] and payment["key"] == key:
                raise web.HTTPUnprocessableEntity(text="this key has paid for another cart")
            if payment["status"] == "processing":
                payment = self.settled(payment, *await self.charge(payment))
        statuses = {"succeeded": 201, "failed": 402, "processing": 202}
        return web.json_response(told(payment), status=statuses[payment["status"]])

    def reserved(self, key: str, cart: sqlite3.Row) -> sqlite3.Row:
        """Return the payment of this key, else the live one of this order, else a new one."""
        row = (uuid.uuid4().hex, key, cart["id"], cart["order_ref"], cart["customer"])
        row = (*row, cart["total_minor"], cart["currency"], "processing", None)
        with self.db:
            self.db.execute(
                f"insert into payments values ({', '.join('?' * len(row))}) on conflict do nothing",  # noqa: S608
                row,
            )
        query = """select * from payments where key = ? or (order_ref = ? and status <> 'failed')
                   order by key = ? desc"""
        found = self.one(query, key, cart["order_ref"], key)
        assert found is not None
        return found

    async def charge(self, payment: sqlite3.Row) -> tuple[str, str | None]:
        """Ask the provider for the money, twice at most, and look it up if it does not say."""
        body = {name: payment[name] for name in ("amount_minor", "currency", "customer")}
        body["reference"] = payment["order_ref"]
        for _ in range(2):
            key = uuid.uuid4().hex if MISTAKE == "retries_with_a_new_key" else payment["id"]
            try:
                async with self.provider.post(
                    f"{PROVIDER}/v1/charges", json=body, headers={"Idempotency-Key": key}
                ) as answer:
                    said = await answer.json()
                    if answer.status == 402:
                        return "failed", None
                    if answer.status == 201:
                        return await self.state_of(said)
            except (ClientError, TimeoutError, ValueError, KeyError, TypeError):
                continue
        return await self.looked_up(payment)

    async def state_of(self, charge: dict[str, Any]) -> tuple[str, str | None]:
        """Say how a charge stands; a bank that takes its time is asked about it again."""
        if charge["status"] == "pending":
            async with self.provider.get(f"{PROVIDER}/v1/charges/{charge['id']}") as answer:
                charge = await answer.json()
        if charge["status"] == "captured":
            return "succeeded", charge["id"]
        return ("failed" if charge["status"] == "declined" else "processing"), None

    async def looked_up(self, payment: sqlite3.Row) -> tuple[str, str | None]:
        query = {"reference": payment["order_ref"]}
        try:
            async with self.provider.get(f"{PROVIDER}/v1/charges", params=query) as answer:
                for charge in (await answer.json())["data"]:
                    if charge["status"] == "captured":
                        return "succeeded", charge["id"]
        except (ClientError, TimeoutError, ValueError, KeyError, TypeError):
            pass
        return "processing", None

    def settled(self, payment: sqlite3.Row, status: str, charge: str | None) -> sqlite3.Row:
        """Record how a payment ended and its credit, both at once."""
        with self.db:
            if status == "succeeded":
                self.book(payment["order_ref"], str(charge), payment["amount_minor"])
            else:
                self.db.execute(
                    "update payments set status = ? where id = ? and status = 'processing'",
                    (status, payment["id"]),
                )
        now = self.one("select * from payments where id = ?", payment["id"])
        assert now is not None
        return now

    def book(self, order_ref: str, charge: str, amount_minor: int) -> None:
        """Credit a charge, whoever tells of it first, and whatever was believed before."""
        self.db.execute(
            "insert into credits values (?, ?, ?) on conflict do nothing",
            (charge, order_ref, amount_minor),
        )
        self.db.execute(
            """update payments set status = 'succeeded', charge = ? where id = (
                 select id from payments where order_ref = ? and status <> 'succeeded'
                 order by status = 'processing' desc limit 1)
               and not exists (select 1 from payments where order_ref = ? and status = 'succeeded')
            """,
            (charge, order_ref, order_ref),
        )

    async def hear(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            news = Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, dict(request.headers))
        except WebhookVerificationError:
            raise web.HTTPUnauthorized from None
        with self.db:
            self.db.execute(
                "insert into events values (?) on conflict do nothing",
                (request.headers["webhook-id"],),
            )
            if news["type"] == "charge.captured":
                charge = news["data"]["charge"]
                self.book(charge["reference"], charge["id"], charge["amount_minor"])
        return web.Response()

    async def show_order(self, request: web.Request) -> web.Response:
        session, order_ref = self.customer_of(request), request.match_info["order"]
        payment = self.one(
            """select * from payments where order_ref = ? and customer = ?
               order by status = 'succeeded' desc, rowid desc""",
            order_ref,
            session["customer"],
        )
        if payment is None:
            raise web.HTTPNotFound
        booked = self.db.execute("select * from credits where order_ref = ?", (order_ref,))
        return web.json_response(told(payment) | {"credits": [dict(row) for row in booked]})

    def customer_of(self, request: web.Request, *, posts: bool = False) -> sqlite3.Row:
        """Return the session of somebody who is logged in; what is posted needs its token."""
        token = request.headers.get("X-CSRF-Token", "") if posts else None
        session = self.session_of(request, token)
        if session["customer"] is None:
            raise web.HTTPUnauthorized(text="log in, please")
        return session

    def session_of(self, request: web.Request, token: str | None) -> sqlite3.Row:
        session = self.one(
            "select * from sessions where id = ?", request.cookies.get("session", "")
        )
        if session is None:
            raise web.HTTPUnauthorized(text="log in, please")
        if token is not None and not secrets.compare_digest(session["token"], token):
            raise web.HTTPForbidden(text="this form was not ours")
        return session

    def one(self, query: str, *values: Any) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return row


def told(payment: sqlite3.Row) -> dict[str, Any]:
    return {name: payment[name] for name in ("id", "status", "amount_minor", "charge")}


async def bookshop() -> web.Application:
    db = sqlite3.connect(DATABASE)
    db.row_factory = sqlite3.Row
    provider = ClientSession(
        headers={"Authorization": "Bearer bookshop"}, timeout=ClientTimeout(total=1)
    )
    shop = Bookshop(db, provider)
    app = web.Application()
    app.add_routes(
        [
            web.get("/", lambda _: web.Response(text="Books!")),
            web.get("/login", shop.login_page),
            web.post("/login", shop.log_in),
            web.post("/cart", shop.fill_cart),
            web.post("/checkout", shop.check_out),
            web.get("/orders/{order}", shop.show_order),
            web.post("/webhooks", shop.hear),
        ]
    )
    app.on_cleanup.append(lambda _: provider.close())
    return app


if __name__ == "__main__":
    if sys.argv[1:] == ["init"]:
        DATABASE.unlink(missing_ok=True)
        sqlite3.connect(DATABASE).executescript(SCHEMA)
    else:
        web.run_app(bookshop(), host="127.0.0.1", port=int(os.environ["PORT"]), print=None)
