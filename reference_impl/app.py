"""The HTTP side: parse, call one verb, write its reply.

Rule 1: a client that hangs up stops nothing. Work that may move money runs in a task of its
        own, which the handler only waits for; shutting down waits for all of them.
Rule 2: every error is problem+json and says nothing of the inside.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from reference_impl.charge import Intent, Reply, answer, problem, shown
from reference_impl.charging import Charging
from reference_impl.inbox import Inbox

log = logging.getLogger(__name__)

BODY_LIMIT: Final = 64 * 1024
KEY: Final = re.compile(r"[\x20-\x7e]{1,255}")
TOKEN: Final = re.compile(r"Bearer ([\x21-\x7e]+)", re.IGNORECASE)

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class ChargeRequest(BaseModel):
    """The body of ``POST /charges``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: Name
    amount_minor: Annotated[int, Field(gt=0, le=10**12)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    customer: Name

    def intent(self) -> Intent:
        return Intent(self.order, self.amount_minor, self.currency, self.customer)


class RefusedError(Exception):
    """The request is refused before anything is done about it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class Desk:
    """The handlers, and the work that outlives them."""

    def __init__(self, charging: Charging, inbox: Inbox) -> None:
        self.charging = charging
        self.inbox = inbox
        self.store = charging.store
        self._work: set[asyncio.Task[Reply]] = set()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/charges", self.charge),
            web.get("/charges", self.charges_for_order),
            web.get("/charges/{id}", self.one_charge),
            web.get("/accounts/{customer}/ledger", self.ledger),
            web.post("/webhooks/provider", self.event),
            web.get("/healthz", self.health),
        ]

    async def charge(self, request: web.Request) -> web.Response:
        tenant, key = tenant_of(request), key_of(request)
        body = await request.read()
        try:
            intent = ChargeRequest.model_validate_json(body).intent()
        except ValidationError as error:
            raise RefusedError(problem(400, "bad_request", _first_fault(error))) from None
        return written(await self._finish(self.charging.charge(tenant, key, intent)))

    async def event(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        return written(await self._finish(self.inbox.receive(headers, await request.read())))

    async def one_charge(self, request: web.Request) -> web.Response:
        charge = await self.store.charge(tenant_of(request), request.match_info["id"])
        if charge is None:
            raise RefusedError(problem(404, "not_found", "no such charge"))
        return written(answer(200, shown(charge)))

    async def charges_for_order(self, request: web.Request) -> web.Response:
        order = request.query.get("order")
        if not order:
            raise RefusedError(problem(400, "bad_request", "name an order: /charges?order=…"))
        charges = await self.store.charges_for(tenant_of(request), order)
        return written(answer(200, {"data": [shown(charge) for charge in charges]}))

    async def ledger(self, request: web.Request) -> web.Response:
        customer = request.match_info["customer"]
        rows = await self.store.entries(tenant_of(request), customer)
        balance: dict[str, int] = {}
        for row in rows:
            sign = 1 if row["kind"] == "charge" else -1
            balance[row["currency"]] = balance.get(row["currency"], 0) + sign * row["amount_minor"]
        entries = [
            {
                "id": row["id"],
                "kind": row["kind"],
                "order": row["order"],
                "charge": row["charge_id"],
                "provider_charge": row["provider_charge"],
                "refund": row["refund"],
                "amount_minor": row["amount_minor"],
                "currency": row["currency"],
            }
            for row in rows
        ]
        account = {"account": customer, "balance_minor": balance, "entries": entries}
        return written(answer(200, account))

    async def health(self, _request: web.Request) -> web.Response:
        try:
            await self.store.ping()
        except SQLAlchemyError:
            return written(problem(503, "no_database", "the database does not answer"))
        return written(answer(200, {"status": "ok"}))

    async def drain(self) -> None:
        """Wait for the work that goes on behind handlers that were given up."""
        await asyncio.gather(*self._work, return_exceptions=True)

    async def _finish(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return await asyncio.shield(task)


def make_app(desk: Desk) -> web.Application:
    app = web.Application(client_max_size=BODY_LIMIT, middlewares=[_problems])
    app.add_routes(desk.routes())
    return app


def tenant_of(request: web.Request) -> str:
    """Return whose request this is: a digest, so that no token is ever stored or logged."""
    given = request.headers.getall("Authorization", [])
    match = TOKEN.fullmatch(given[0]) if len(given) == 1 else None
    if match is None:
        raise RefusedError(problem(401, "no_token", "send Authorization: Bearer and a token"))
    return hashlib.sha256(match[1].encode()).hexdigest()[:32]


def key_of(request: web.Request) -> str:
    """Return the client's idempotency key."""
    given = request.headers.getall("Idempotency-Key", [])
    key = given[0].strip() if len(given) == 1 else ""
    if not KEY.fullmatch(key):
        detail = "send one Idempotency-Key of 1 to 255 printable ASCII characters"
        raise RefusedError(problem(400, "bad_key", detail))
    return key


def written(reply: Reply) -> web.Response:
    """Return a reply as an HTTP response."""
    kind = "application/json" if reply.status < 400 else "application/problem+json"
    response = web.Response(status=reply.status, body=reply.body, content_type=kind)
    if reply.retry_after_s is not None:
        response.headers["Retry-After"] = str(reply.retry_after_s)
    if reply.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except RefusedError as refused:
        return written(refused.reply)
    except web.HTTPException as error:
        return written(problem(error.status, "refused", error.reason))
    except Exception as error:
        # No Retry-After: from here nobody can say that it did not happen.
        log.exception("broken request", extra={"error": type(error).__name__})
        return written(problem(500, "internal", "something broke; ask again with the same key"))


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg']}" if place else fault["msg"]
