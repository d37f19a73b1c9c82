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
from typing import Any, ClassVar, Final, Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy.exc import SQLAlchemyError

from reference_impl.answers import Reply, answer, problem, shown
from reference_impl.charging import Charging
from reference_impl.event import Amount, Currency, Name
from reference_impl.inbox import Inbox
from reference_impl.metrics import CONTENT_TYPE
from reference_impl.operation import Change, Intent

log = logging.getLogger(__name__)

BODY_LIMIT: Final = 64 * 1024
WORK_LIMIT: Final = 1_000
"""How many requests that may move money are at work at once; what is more is refused before it
reserves anything, and loses nothing but time."""
KEY: Final = re.compile(r"[\x20-\x7e]{1,255}")
TOKEN: Final = re.compile(r"Bearer ([\x21-\x7e]+)", re.IGNORECASE)


class ChargeRequest(BaseModel):
    """The body of ``POST /charges``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: Name
    amount_minor: Amount
    currency: Currency
    customer: Name
    capture: bool = True

    def intent(self) -> Intent:
        return Intent(
            self.order, self.amount_minor, self.currency, self.customer, capture=self.capture
        )


class ChangeRequest(BaseModel):
    """The body of ``POST /charges/{id}/captures`` and ``…/refunds``; it may be empty."""

    model_config = ConfigDict(extra="forbid", strict=True)

    amount_minor: Amount | None = None


class RefusedError(Exception):
    """The request is refused before anything is done about it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class Desk:
    """The handlers, and the work that outlives them."""

    hanging_up_cancels: ClassVar[bool] = False
    """Whether a handler ends at once when its client is gone."""

    def __init__(self, charging: Charging, inbox: Inbox) -> None:
        self.charging = charging
        self.inbox = inbox
        self.store = charging.store
        self.closing = False
        self._work: set[asyncio.Task[Reply]] = set()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/charges", self.charge),
            web.get("/charges", self.charges_for_order),
            web.get("/charges/{id}", self.one_charge),
            web.post("/charges/{id}/captures", self.capture),
            web.post("/charges/{id}/refunds", self.refund),
            web.get("/accounts/{customer}/ledger", self.ledger),
            web.post("/webhooks/provider", self.event),
            web.get("/healthz", self.ready),
            web.get("/healthz/ready", self.ready),
            web.get("/healthz/live", self.live),
            web.get("/metrics", self.measured),
        ]

    async def charge(self, request: web.Request) -> web.Response:
        tenant, key = tenant_of(request), key_of(request)
        intent = (await body_of(request, ChargeRequest)).intent()
        return written(await self.finish(self.charging.charge(tenant, key, intent)))

    async def capture(self, request: web.Request) -> web.Response:
        return await self._change(request, "capture")

    async def refund(self, request: web.Request) -> web.Response:
        return await self._change(request, "refund")

    async def _change(
        self, request: web.Request, kind: Literal["capture", "refund"]
    ) -> web.Response:
        tenant, key = tenant_of(request), key_of(request)
        asked = await body_of(request, ChangeRequest)
        change = Change(kind, request.match_info["id"], asked.amount_minor)
        return written(await self.finish(self.charging.change(tenant, key, change)))

    async def event(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        return written(await self.finish(self.inbox.receive(headers, await request.read())))

    async def one_charge(self, request: web.Request) -> web.Response:
        charge = await self.store.charge(tenant_of(request), request.match_info["id"])
        if charge is None:
            raise RefusedError(problem(404, "not_found", "no such charge"))
        return written(answer(200, shown(charge)))

    async def charges_for_order(self, request: web.Request) -> web.Response:
        order = request.query.get("order")
        if not order:
            raise RefusedError(problem(400, "bad_request", "name an order: /charges?order=…"))
        tenant = tenant_of(request)
        charges = await self.store.charges_for(tenant, order)
        data = [shown(charge) | {"refunded_minor": back_minor} for charge, back_minor in charges]
        return written(answer(200, {"data": data}))

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

    async def ready(self, _request: web.Request) -> web.Response:
        """Answer whether a request would be served; if not, send none for now."""
        if self.closing:
            return written(problem(503, "closing", "this process is about to end"))
        try:
            await self.store.ping()
        except SQLAlchemyError:
            return written(problem(503, "no_database", "the database does not answer"))
        return written(answer(200, {"status": "ok"}))

    async def live(self, _request: web.Request) -> web.Response:
        """Answer that the event loop turns; if nothing answers, start this process anew."""
        return written(answer(200, {"status": "alive"}))

    async def measured(self, _request: web.Request) -> web.Response:
        oldest = await self.store.oldest_unknown()
        page = self.charging.metrics.page(oldest, self.charging.surroundings.clock())
        return web.Response(body=page, headers={"Content-Type": CONTENT_TYPE})

    async def drain(self) -> None:
        """Wait for the work that goes on behind handlers that were given up."""
        await asyncio.gather(*self._work, return_exceptions=True)
        await self.inbox.drain()

    async def finish(self, work: Coroutine[Any, Any, Reply]) -> Reply:
        """See work through that may move money, whether or not anybody still waits for it."""
        if len(self._work) >= WORK_LIMIT:
            work.close()
            detail = "too much is being worked on; nothing was done, try again"
            raise RefusedError(problem(503, "overloaded", detail, retry_after_s=1))
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
    return tenant_named_by(match[1])


def tenant_named_by(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:32]


def key_of(request: web.Request) -> str:
    """Return the client's idempotency key."""
    given = request.headers.getall("Idempotency-Key", [])
    key = given[0].strip() if len(given) == 1 else ""
    if not KEY.fullmatch(key):
        detail = "send one Idempotency-Key of 1 to 255 printable ASCII characters"
        raise RefusedError(problem(400, "bad_key", detail))
    return key


Body = TypeVar("Body", bound=BaseModel)


async def body_of(request: web.Request, shape: type[Body]) -> Body:
    """Return the body of a request; an empty one is an empty object."""
    try:
        return shape.model_validate_json(await request.read() or b"{}")
    except ValidationError as error:
        raise RefusedError(problem(400, "bad_request", _first_fault(error))) from None


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
