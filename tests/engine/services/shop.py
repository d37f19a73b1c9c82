"""A charge service of four minds: GUARD says how it keeps a key from being charged twice.

| GUARD         | how a key is claimed                                             | right |
|---------------|------------------------------------------------------------------|-------|
| on_conflict   | INSERT … ON CONFLICT DO NOTHING, before the call                  | yes   |
| look_first    | SELECT, then INSERT, then the call                               | no    |
| not_exists    | one statement: INSERT … WHERE NOT EXISTS, without a unique index | no    |
| lock_nothing  | SELECT … FOR UPDATE of a row that is not there yet               | no    |
"""

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import psycopg
from aiohttp import web
from psycopg_pool import AsyncConnectionPool

POOL = web.AppKey("pool", AsyncConnectionPool)
HTTP = web.AppKey("http", aiohttp.ClientSession)

Pool = AsyncConnectionPool
Claim = Callable[[Pool, str], Awaitable[bool]]


async def on_conflict(pool: Pool, order: str) -> bool:
    async with pool.connection() as db:
        claimed = await db.execute(
            "INSERT INTO sales VALUES (%s, 'open') ON CONFLICT (name) DO NOTHING", [order]
        )
        return claimed.rowcount == 1


async def look_first(pool: Pool, order: str) -> bool:
    async with pool.connection() as db:
        found = await db.execute("SELECT FROM notes WHERE name = %s", [order])
        if await found.fetchone() is not None:
            return False
        await db.execute("INSERT INTO notes VALUES (%s, 'open')", [order])
        return True


async def not_exists(pool: Pool, order: str) -> bool:
    async with pool.connection() as db:
        claimed = await db.execute(
            "INSERT INTO notes SELECT %s, 'open' FROM pg_sleep(0.005) "
            "WHERE NOT EXISTS (SELECT FROM notes WHERE name = %s)",
            [order, order],
        )
        return claimed.rowcount == 1


async def lock_nothing(pool: Pool, order: str) -> bool:
    async with pool.connection() as db, db.transaction():
        found = await db.execute("SELECT FROM notes WHERE name = %s FOR UPDATE", [order])
        if await found.fetchone() is not None:
            return False
        await db.execute("INSERT INTO notes VALUES (%s, 'open')", [order])
        return True


GUARDS: dict[str, Claim] = {
    guard.__name__: guard for guard in (on_conflict, look_first, not_exists, lock_nothing)
}
GUARD = GUARDS[os.environ["GUARD"]]
SAY, ASK = (
    ("UPDATE sales SET state = %s WHERE name = %s", "SELECT state FROM sales WHERE name = %s")
    if GUARD is on_conflict
    else ("UPDATE notes SET state = %s WHERE name = %s", "SELECT state FROM notes WHERE name = %s")
)


async def pay(request: web.Request) -> web.Response:
    sale = await request.json()
    pool = request.app[POOL]
    if not await GUARD(pool, sale["order"]):
        return web.json_response({"state": await state_of(pool, sale["order"])})
    body = {
        "amount_minor": sale["cents"],
        "currency": "EUR",
        "reference": sale["order"],
        "customer": sale["who"],
    }
    headers = {"Authorization": "Bearer shop", "Idempotency-Key": str(uuid.uuid4())}
    url = os.environ["PROVIDER_URL"] + "/v1/charges"
    async with request.app[HTTP].post(url, json=body, headers=headers) as answer:
        state = "paid" if answer.status == 201 else "refused"
    async with pool.connection() as db:
        await db.execute(SAY, [state, sale["order"]])
    return web.json_response({"state": state})


async def tell(request: web.Request) -> web.Response:
    return web.json_response(
        {"state": await state_of(request.app[POOL], request.match_info["order"])}
    )


async def state_of(pool: Pool, order: str) -> str:
    async with pool.connection() as db:
        found = await (await db.execute(ASK, [order])).fetchone()
    return "open" if found is None else str(found[0])


async def resources(app: web.Application) -> AsyncIterator[None]:
    url = os.environ["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE TABLE IF NOT EXISTS sales (name text PRIMARY KEY, state text)")
        db.execute("CREATE TABLE IF NOT EXISTS notes (name text, state text)")
    async with (
        AsyncConnectionPool(
            # It grows: whose a statement is must not be told by the connection.
            url,
            min_size=1,
            max_size=3,
            open=False,
            kwargs={"autocommit": True},
        ) as pool,
        aiohttp.ClientSession() as http,
    ):
        await pool.wait()
        app[POOL], app[HTTP] = pool, http
        yield


app = web.Application()
app.cleanup_ctx.append(resources)
app.add_routes([web.post("/pay", pay), web.get("/sales/{order}", tell)])
if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=int(os.environ["PORT"]), print=None)
