"""A charge service with one hard race: MISTAKE says which.

Each keeps a key from being charged twice whatever customers do, but for a window of a fraction of
a millisecond, or one that opens late, or only between two instances, or when a connection is lost.

| MISTAKE        | what is wrong                                                               |
|----------------|-----------------------------------------------------------------------------|
| forgets_first  | the claim is cleared just before the result is durable                      |
| local_lock     | the same under a lock that only this process knows: wrong with two instances |
| short_lease    | a claim is taken over after a lease that is shorter than a provider call    |
| lost_commit    | a COMMIT without an answer is tried again, with a new upstream key          |
| redis_guard    | looks for a result, then claims, and never looks again (Redis)              |
| looks_first    | charges are right; a webhook's event is looked for, and then inserted       |
| in_memory      | as forgets_first, in the memory of one process: no store to hold it at      |
| gives_up       | a customer who hangs up takes the claim along                               |
| fails_open     | a look at the store (Redis) that takes too long is given up: nothing is known |
"""

import asyncio
import itertools
import os
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import psycopg
from aiohttp import web
from psycopg_pool import AsyncConnectionPool
from redis.asyncio import Redis

MISTAKE = os.environ["MISTAKE"]
PATIENCE_S = 0.1
LEASE_S = float(os.environ.get("LEASE_S", "0.3"))
TABLES = (
    "claims (name text PRIMARY KEY)",
    "results (name text PRIMARY KEY, state text)",
    "leases (name text PRIMARY KEY, until timestamptz, state text)",
    "duties (name text, attempt int, upstream text, PRIMARY KEY (name, attempt))",
    "events (id text)",
    "credits (name text, amount_minor int, event text)",
)


class Shop:
    """What all mistakes have in common: a database, a Redis, a provider, a memory."""

    pool: AsyncConnectionPool
    redis: Redis
    http: aiohttp.ClientSession

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.claims: set[str] = set()
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def say(self, statement: str, *values: object) -> int:
        async with self.pool.connection() as db:
            return (await db.execute(statement, values)).rowcount

    async def ask(self, question: str, *values: object) -> list[str]:
        async with self.pool.connection() as db:
            rows = await (await db.execute(question, values)).fetchall()
        return [str(each) for (each,) in rows]

    async def charge(self, sale: dict[str, Any], upstream: str = "") -> str:
        body = {"amount_minor": sale["cents"], "currency": "EUR"}
        body |= {"reference": sale["order"], "customer": sale["who"]}
        headers = {"Authorization": "Bearer shop", "Idempotency-Key": upstream or str(uuid.uuid4())}
        url = os.environ["PROVIDER_URL"] + "/v1/charges"
        async with self.http.post(url, json=body, headers=headers) as answer:
            return {201: "paid", 402: "refused"}.get(answer.status, "open")

    async def result(self, order: str) -> str | None:
        return next(iter(await self.ask("SELECT state FROM results WHERE name = %s", order)), None)

    async def record(self, order: str, state: str) -> None:
        await self.say("INSERT INTO results VALUES (%s, %s) ON CONFLICT DO NOTHING", order, state)


async def forgets_first(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    if not await shop.say("INSERT INTO claims VALUES (%s) ON CONFLICT DO NOTHING", order):
        return await shop.result(order) or "open"
    state = await shop.result(order)
    if state is not None:
        await shop.say("DELETE FROM claims WHERE name = %s", order)
        return state
    state = await shop.charge(sale)
    await shop.say("DELETE FROM claims WHERE name = %s", order)
    await shop.record(order, state)
    return state


async def local_lock(shop: Shop, sale: dict[str, Any]) -> str:
    async with shop.locks[sale["order"]]:
        return await forgets_first(shop, sale)


async def short_lease(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    mine = await shop.say(
        "INSERT INTO leases VALUES (%s, now() + %s * interval '1 s', 'open') "
        "ON CONFLICT (name) DO UPDATE SET until = excluded.until "
        "WHERE leases.state = 'open' AND leases.until < now()",
        order,
        LEASE_S,
    )
    if mine:
        state = await shop.charge(sale)
        await shop.say("UPDATE leases SET state = %s WHERE name = %s", state, order)
    return (await shop.ask("SELECT state FROM leases WHERE name = %s", order))[0]


async def lost_commit(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    if known := await shop.result(order):
        return known
    for attempt in itertools.count():
        try:
            async with shop.pool.connection() as db, db.transaction():
                await db.execute(
                    "INSERT INTO duties VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                    [order, attempt, str(uuid.uuid4())],
                )
            break
        except psycopg.OperationalError:
            await shop.pool.check()
    for upstream in await shop.ask("SELECT upstream FROM duties WHERE name = %s", order):
        state = await shop.charge(sale, upstream)
    if state != "open":
        await shop.record(order, state)
    return state


async def redis_guard(shop: Shop, sale: dict[str, Any]) -> str:
    result, claim = f"result:{sale['order']}", f"claim:{sale['order']}"
    if known := await shop.redis.get(result):
        return str(known)
    if not await shop.redis.set(claim, "1", nx=True, ex=60):
        return "open"
    state = await shop.charge(sale)
    await shop.redis.set(result, state)
    await shop.redis.delete(claim)
    return state


async def looks_first(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    if not await shop.say("INSERT INTO claims VALUES (%s) ON CONFLICT DO NOTHING", order):
        return await shop.result(order) or "open"
    state = await shop.charge(sale)
    await shop.record(order, state)
    return state


async def in_memory(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    if order in shop.known or order in shop.claims:
        return shop.known.get(order, "open")
    shop.claims.add(order)
    try:
        state = await shop.charge(sale)
    finally:
        shop.claims.discard(order)
    await asyncio.sleep(0)  # whoever waits for the end of a claim goes first
    shop.known[order] = state
    return state


async def fails_open(shop: Shop, sale: dict[str, Any]) -> str:
    result, claim = f"result:{sale['order']}", f"claim:{sale['order']}"
    if known := await patiently(shop.redis.get(result)):
        return known
    if not await shop.redis.set(claim, "1", nx=True, ex=60):
        return "open"
    state = await patiently(shop.redis.get(result)) or await shop.charge(sale)
    await shop.redis.set(result, state)
    await shop.redis.delete(claim)
    return state


async def patiently(look: Awaitable[object]) -> str | None:
    """Wait for a cache as long as anybody would: without it, things go on as well."""
    try:
        known = await asyncio.wait_for(look, PATIENCE_S)
    except TimeoutError:
        return None
    return None if known is None else str(known)


async def gives_up(shop: Shop, sale: dict[str, Any]) -> str:
    order = sale["order"]
    (upstream,) = await shop.ask(
        "INSERT INTO duties VALUES (%s, 0, %s) "
        "ON CONFLICT (name, attempt) DO UPDATE SET attempt = 0 RETURNING upstream",
        order,
        str(uuid.uuid4()),
    )
    try:
        state = await shop.charge(sale, upstream)
    except asyncio.CancelledError:
        await asyncio.shield(shop.say("DELETE FROM duties WHERE name = %s", order))
        raise
    if state != "open":
        await shop.record(order, state)
    return state


Pay = Callable[[Shop, dict[str, Any]], Awaitable[str]]
PAYS: dict[str, Pay] = {
    pay.__name__: pay
    for pay in (
        forgets_first,
        local_lock,
        short_lease,
        lost_commit,
        redis_guard,
        looks_first,
        in_memory,
        gives_up,
        fails_open,
    )
}
PAY, SHOP = PAYS[MISTAKE], web.AppKey("shop", Shop)


async def pay(request: web.Request) -> web.Response:
    return web.json_response({"state": await PAY(request.app[SHOP], await request.json())})


async def tell(request: web.Request) -> web.Response:
    shop, order = request.app[SHOP], request.match_info["order"]
    match MISTAKE:
        case "in_memory":
            state = shop.known.get(order)
        case "redis_guard" | "fails_open":
            state = str(await shop.redis.get(f"result:{order}") or "open")
        case "short_lease":
            told = await shop.ask("SELECT state FROM leases WHERE name = %s", order)
            state = next(iter(told), None)
        case _:
            state = await shop.result(order)
    return web.json_response({"state": state or "open"})


async def hear(request: web.Request) -> web.Response:
    """Book what an event says; two copies at once may both find it new."""
    shop, event = request.app[SHOP], await request.json()
    name, charge = request.headers["webhook-id"], event["data"]["charge"]
    if await shop.ask("SELECT id FROM events WHERE id = %s", name):
        return web.Response()
    await shop.say("INSERT INTO events VALUES (%s)", name)
    booked = (charge["reference"], charge["amount_minor"], name)
    await shop.say("INSERT INTO credits VALUES (%s, %s, %s)", *booked)
    return web.Response()


async def resources(app: web.Application) -> AsyncIterator[None]:
    shop = app[SHOP] = Shop()
    async with aiohttp.ClientSession() as shop.http:
        if url := os.environ["REDIS_URL"]:
            shop.redis = Redis.from_url(url, decode_responses=True)
        if url := os.environ["DATABASE_URL"]:
            await prepare(url)
            shop.pool = AsyncConnectionPool(
                url, min_size=3, max_size=3, open=False, kwargs={"autocommit": True}
            )
            await shop.pool.open(wait=True)
        yield
        if os.environ["DATABASE_URL"]:
            await shop.pool.close()
        if os.environ["REDIS_URL"]:
            await shop.redis.aclose()


async def prepare(url: str) -> None:
    """Make the tables; of two instances one goes first."""
    async with await psycopg.AsyncConnection.connect(url) as db:
        await db.execute("SELECT pg_advisory_xact_lock(1)")
        for table in TABLES:
            await db.execute(f"CREATE TABLE IF NOT EXISTS {table}")


app = web.Application()
app.cleanup_ctx.append(resources)
app.add_routes([web.post("/pay", pay), web.get("/sales/{order}", tell), web.post("/news", hear)])
if __name__ == "__main__":
    gone = MISTAKE == "gives_up"
    port = int(os.environ["PORT"])
    for _ in range(int(os.environ.get("WORKERS", "1")) - 1):
        if not os.fork():
            break
    web.run_app(
        app,
        host="127.0.0.1",
        port=port,
        print=None,
        handler_cancellation=gone,
        reuse_port="WORKERS" in os.environ,
    )
