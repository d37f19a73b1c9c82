"""Payments by queue: a request is answered 202 at once, and a worker charges the card later.

It runs by itself, as in a container of its own, and onecharge is told where it is. Its SQLite
file is made anew at each start.

MISTAKE=takes_jobs_twice has it make one: a job whose charge was not answered is put back as a new
one, whose key at the provider is another.
"""

import asyncio
import json
import os
import sqlite3
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web

MISTAKE = os.environ.get("MISTAKE", "")
DATABASE = Path(os.environ.get("DATABASE", "queue.db"))
PORT = int(os.environ.get("PORT", "8202"))
PROVIDER = os.environ.get("PROVIDER_URL", "http://127.0.0.1:12202")
WORKERS = 4

SCHEMA = """
create table payments (id text primary key, key text not null unique, wish text not null,
                       order_ref text not null, status text not null default 'queued',
                       charge text);
create unique index one_live_payment on payments (order_ref) where status <> 'failed';
create table jobs (id text primary key, payment text not null, taken integer not null default 0);
create table credits (charge text primary key, order_ref text not null,
                      amount_minor integer not null);
"""


class Payments:
    def __init__(self, db: sqlite3.Connection, provider: ClientSession) -> None:
        self.db = db
        self.provider = provider
        self.more = asyncio.Event()

    async def take(self, request: web.Request) -> web.Response:
        """Write the wish and its job down together, and say that it will be done."""
        key, wish = request.headers.get("Idempotency-Key", "").strip(), await request.json()
        if not 1 <= len(key) <= 255:
            return web.json_response({"error": "a key of 1 to 255 characters"}, status=400)
        name, text = uuid.uuid4().hex, spelt(wish)
        with self.db:
            made = self.db.execute(
                """insert into payments (id, key, wish, order_ref) values (?, ?, ?, ?)
                   on conflict do nothing""",
                (name, key, text, wish["order"]),
            )
            if made.rowcount:
                self.db.execute("insert into jobs (id, payment) values (?, ?)", (name, name))
        self.more.set()
        payment = self.one(
            """select * from payments where key = ? or (order_ref = ? and status <> 'failed')
               order by key = ? desc""",
            key,
            wish["order"],
            key,
        )
        assert payment is not None
        if payment["wish"] != text:
            return web.json_response({"error": "this key has paid for something else"}, status=422)
        return web.json_response(told(payment), status=202)

    async def show(self, request: web.Request) -> web.Response:
        payment = self.one("select * from payments where id = ?", request.match_info["id"])
        if payment is None:
            raise web.HTTPNotFound
        return web.json_response(told(payment))

    async def work(self) -> None:
        """Do one job after the other; what could not be finished is put back."""
        while True:
            with self.db:
                job = self.one(
                    """update jobs set taken = 1 where id = (
                         select id from jobs where not taken order by rowid limit 1)
                       returning *"""
                )
            if job is None:
                self.more.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.more.wait(), 0.5)
                continue
            if not await self.charge(job):
                await asyncio.sleep(0.1)
                self.put_back(job)

    async def charge(self, job: sqlite3.Row) -> bool:
        """Charge what a job is about; tell whether it is done with."""
        payment = self.one("select * from payments where id = ?", job["payment"])
        assert payment is not None
        order, amount_minor, currency, customer = json.loads(payment["wish"])
        body = {"amount_minor": amount_minor, "currency": currency, "customer": customer}
        status, charge = await self.asked(body | {"reference": order}, job["id"])
        if status == "unclear" and MISTAKE != "takes_jobs_twice":
            status, charge = await self.looked_up(order)
        if status == "unclear":
            return False
        with self.db:
            if charge is not None:
                self.db.execute(
                    "insert into credits values (?, ?, ?) on conflict do nothing",
                    (charge, order, amount_minor),
                )
            self.db.execute(
                "update payments set status = ?, charge = ? where id = ?",
                (status, charge, payment["id"]),
            )
            self.db.execute("delete from jobs where id = ?", (job["id"],))
        return True

    async def asked(self, body: dict[str, Any], key: str) -> tuple[str, str | None]:
        headers = {"Idempotency-Key": key}
        with suppress(ClientError, TimeoutError, ValueError, KeyError, TypeError):
            async with self.provider.post(
                f"{PROVIDER}/v1/charges", json=body, headers=headers
            ) as answer:
                said = await answer.json()
                if answer.status == 402:
                    return "failed", None
                if answer.status == 201:
                    return await self.state_of(said)
        return "unclear", None

    async def state_of(self, charge: dict[str, Any]) -> tuple[str, str | None]:
        """Say how a charge stands; a bank that takes its time is asked about it again."""
        if charge["status"] == "pending":
            async with self.provider.get(f"{PROVIDER}/v1/charges/{charge['id']}") as answer:
                charge = await answer.json()
        if charge["status"] == "captured":
            return "paid", charge["id"]
        return ("failed" if charge["status"] == "declined" else "unclear"), None

    async def looked_up(self, order: str) -> tuple[str, str | None]:
        with suppress(ClientError, TimeoutError, ValueError, KeyError, TypeError):
            async with self.provider.get(
                f"{PROVIDER}/v1/charges", params={"reference": order}
            ) as answer:
                for charge in (await answer.json())["data"]:
                    if charge["status"] == "captured":
                        return "paid", charge["id"]
        return "unclear", None

    def put_back(self, job: sqlite3.Row) -> None:
        name = uuid.uuid4().hex if MISTAKE == "takes_jobs_twice" else job["id"]
        with self.db:
            self.db.execute("delete from jobs where id = ?", (job["id"],))
            self.db.execute("insert into jobs values (?, ?, 0)", (name, job["payment"]))
        self.more.set()

    def one(self, query: str, *values: Any) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self.db.execute(query, values).fetchone()
        return row


def spelt(wish: dict[str, Any]) -> str:
    return json.dumps([wish["order"], wish["amount"], wish["currency"], wish["customer"]])


def told(payment: sqlite3.Row) -> dict[str, Any]:
    return {name: payment[name] for name in ("id", "status", "charge")}


def fresh_database() -> sqlite3.Connection:
    DATABASE.unlink(missing_ok=True)
    db = sqlite3.connect(DATABASE)
    db.row_factory = sqlite3.Row
    db.executescript(SCHEMA)
    return db


async def payments(db: sqlite3.Connection) -> web.Application:
    provider = ClientSession(
        headers={"Authorization": "Bearer queue"}, timeout=ClientTimeout(total=1)
    )
    service = Payments(db, provider)
    workers = [asyncio.create_task(service.work()) for _ in range(WORKERS)]
    app = web.Application()
    app.add_routes(
        [
            web.get("/healthz", lambda _: web.Response(text="ok")),
            web.post("/payments", service.take),
            web.get("/payments/{id}", service.show),
        ]
    )

    async def clean_up(_: web.Application) -> None:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await provider.close()

    app.on_cleanup.append(clean_up)
    return app


if __name__ == "__main__":
    web.run_app(payments(fresh_database()), host="127.0.0.1", port=PORT, print=None)
