"""``/_sim/``: how a test in any language arms faults, moves time and reads the truth.

Rule 1: every route is a row of ``ROUTES``; ``openapi.json`` says the same for people and tools.
Rule 2: a wrong request is answered by problem+json which names the field, and changes nothing.
Rule 3: without a token only loopback may ask; with one, whoever shows it.
"""

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simulator import wire
from simulator.catalogue import PlanError, rules_from, table_from
from simulator.gates import HeldCall

if TYPE_CHECKING:
    from simulator.server import Simulator

PREFIX: Final = "/_sim/"


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class PlanBody(_Body):
    """The rules to put in force instead of the present ones."""

    rules: list[dict[str, Any]]


class AdvanceBody(_Body):
    """How far virtual time is to move."""

    seconds: Annotated[float, Field(ge=0)]


class EndpointBody(_Body):
    """Who wants to be told of events, of one account or of all."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
    secret: str
    account: str | None = None


class ResetBody(_Body):
    """The seed to begin again with; without one, the present seed."""

    seed: int | None = None


class NoBody(_Body):
    """Nothing, or an empty object."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One control request, read."""

    body: Any
    names: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: JSON data, or nothing at all."""

    data: Any = None
    status: int = 200


class Trouble(Exception):
    """What was asked cannot be done, and why; the answer of problem+json."""

    def __init__(self, status: int, title: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.problem = {"title": title, "status": status, "detail": detail, **more}


class Control:
    """Answers everything below ``/_sim/``."""

    def __init__(self, simulator: "Simulator", *, token: str | None = None) -> None:
        self._simulator = simulator
        self._token = token

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one control request; what is wrong with it is a 4xx."""
        try:
            self._check_right(request)
            route, names = _route_of(request.method, request.path)
            body = await _body_of(request, route.body)
            told = await route.answer(self, Asked(body, names, request.query))
        except Trouble as trouble:
            return _json(trouble.problem, trouble.status, "application/problem+json")
        if told.data is None:
            return web.Response(status=told.status)
        return _json(told.data, told.status)

    async def ready(self, _: Asked) -> Told:
        """Tell that calls are answered, and where."""
        simulator = self._simulator
        return Told(
            {
                "ready": True,
                "dialect": simulator.dialect,
                "seed": simulator.seed,
                "urls": dict(simulator.urls),
                "now_s": simulator.clock.now(),
            }
        )

    async def arm(self, asked: Asked) -> Told:
        """Put a plan in force instead of the present one."""
        try:
            rules = rules_from(asked.body.rules)
        except PlanError as error:
            raise _invalid(error.field, error.expected, error.found, str(error)) from None
        self._simulator.arm(rules)
        return await self.plan(asked)

    async def plan(self, _: Asked) -> Told:
        """Show the plan, and how often each rule has fired."""
        plan = self._simulator.provider.plan
        rules = [table_from(rule) | {"fired": plan.fired[rule.name]} for rule in plan.rules]
        return Told({"in_force": plan.in_force, "rules": rules})

    async def disarm(self, _: Asked) -> Told:
        """End all faults: rules, holds and silent connections."""
        self._simulator.disarm()
        return Told(status=204)

    async def held(self, _: Asked) -> Told:
        """Show the calls that are held, longest first."""
        now_s = asyncio.get_running_loop().time()
        return Told({"held": [_held_object(held, now_s) for held in self._simulator.gates.held()]})

    async def release(self, asked: Asked) -> Told:
        """Let one held call go on."""
        [call] = asked.names
        if not self._simulator.gates.release(call, "control"):
            raise Trouble(404, "Not held", f"No call {call!r} is held now.")
        return Told({"call": call, "released": True})

    async def advance(self, asked: Asked) -> Told:
        """Move virtual time forward; what falls due is sent."""
        self._simulator.advance(asked.body.seconds)
        return Told({"now_s": self._simulator.clock.now()})

    async def ledger(self, _: Asked) -> Told:
        """Show every movement of money; a real charge is a capture found here."""
        ledger = self._simulator.provider.ledger
        return Told(
            {
                "postings": [asdict(posting) for posting in ledger],
                "discrepancies": ledger.discrepancies(),
            }
        )

    async def journal(self, asked: Asked) -> Told:
        """Show what happened, from an index on."""
        journal = self._simulator.journal
        if journal is None:
            raise Trouble(409, "No journal here", "Whoever embedded this simulator keeps it.")
        first = asked.query.get("from", "0")
        if not (first.isascii() and first.isdigit() and len(first) < 16):
            raise _invalid("from", "an index, from 0", first)
        return Told({"entries": journal.lines(int(first)), "next": len(journal)})

    async def deliveries(self, _: Asked) -> Told:
        """Show every duty to tell an endpoint of an event, and how far it is."""
        deliveries = self._simulator.provider.deliveries
        return Told(
            {
                "unfinished": deliveries.unfinished,
                "deliveries": [
                    {
                        "id": delivery.id,
                        "event": delivery.event.id,
                        "type": delivery.event.type,
                        "charge": delivery.event.charge_id,
                        "order": delivery.event.order,
                        "url": delivery.endpoint.url,
                        "attempts": delivery.attempts,
                        "acknowledged": delivery.acknowledged,
                        "withheld": delivery.withheld,
                    }
                    for delivery in deliveries.by_id.values()
                ],
            }
        )

    async def add_endpoint(self, asked: Asked) -> Told:
        """Tell an endpoint of every event to come."""
        body: EndpointBody = asked.body
        try:
            self._simulator.add_endpoint(body.url, body.secret, body.account)
        except ValueError as error:
            raise _invalid(
                "secret", f"what {self._simulator.dialect} takes: {error}", "…"
            ) from None
        return Told({"url": body.url, "account": body.account}, 201)

    async def clear_endpoints(self, _: Asked) -> Told:
        """Tell nobody anything any more."""
        self._simulator.clear_endpoints()
        return Told(status=204)

    async def resend(self, asked: Asked) -> Told:
        """Deliver an event once more, under its old id."""
        [event] = asked.names
        try:
            deliveries = self._simulator.resend(event)
        except KeyError:
            raise Trouble(404, "No such event", f"There is no event {event!r}.") from None
        return Told({"event": event, "deliveries": deliveries}, 202)

    async def reset(self, asked: Asked) -> Told:
        """Begin again: no charges, no plan, no endpoints, time 0."""
        await self._simulator.reset(asked.body.seed)
        return Told({"seed": self._simulator.seed})

    async def openapi(self, _: Asked) -> Told:
        """Describe all of this to machines."""
        return Told(json.loads((resources.files("simulator") / "openapi.json").read_text()))

    def _check_right(self, request: web.BaseRequest) -> None:
        if self._token is not None:
            shown = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(shown, f"Bearer {self._token}".encode()):
                raise Trouble(401, "Token required", "Show the token: Authorization: Bearer ….")
        elif not is_loopback(request.transport and request.transport.get_extra_info("peername")):
            raise Trouble(403, "Loopback only", "Start with a token to control it from elsewhere.")


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked. Names in braces are handed over in their order."""

    method: str
    path: str
    answer: Callable[[Control, Asked], Awaitable[Told]]
    body: type[_Body] = NoBody

    def names_in(self, path: str) -> tuple[str, ...] | None:
        """Return what stands in the place of the names, or None for another path."""
        ours, theirs = self.path.split("/"), path.split("/")
        if len(ours) != len(theirs):
            return None
        names = []
        for our, their in zip(ours, theirs, strict=True):
            if our.startswith("{") and their:
                names.append(their)
            elif our != their:
                return None
        return tuple(names)


ROUTES: Final = (
    Route("GET", "/_sim/ready", Control.ready),
    Route("GET", "/_sim/plan", Control.plan),
    Route("POST", "/_sim/plan", Control.arm, PlanBody),
    Route("DELETE", "/_sim/plan", Control.disarm),
    Route("GET", "/_sim/held", Control.held),
    Route("POST", "/_sim/held/{call}/release", Control.release),
    Route("POST", "/_sim/clock/advance", Control.advance, AdvanceBody),
    Route("GET", "/_sim/ledger", Control.ledger),
    Route("GET", "/_sim/journal", Control.journal),
    Route("GET", "/_sim/deliveries", Control.deliveries),
    Route("POST", "/_sim/endpoints", Control.add_endpoint, EndpointBody),
    Route("DELETE", "/_sim/endpoints", Control.clear_endpoints),
    Route("POST", "/_sim/events/{event}/resend", Control.resend),
    Route("POST", "/_sim/reset", Control.reset, ResetBody),
    Route("GET", "/_sim/openapi.json", Control.openapi),
)


def is_loopback(peer: object) -> bool:
    """Tell whether a socket's peer is on this machine."""
    if not (isinstance(peer, tuple) and peer):
        return False
    address = ipaddress.ip_address(peer[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _route_of(method: str, path: str) -> tuple[Route, tuple[str, ...]]:
    allowed = []
    for route in ROUTES:
        names = route.names_in(path)
        if names is not None and route.method == method:
            return route, names
        if names is not None:
            allowed.append(route.method)
    if allowed:
        methods = " and ".join(allowed)
        raise Trouble(405, "Method not allowed", f"{path} takes {methods}.", allowed=allowed)
    raise Trouble(404, "No such control", f"{path} is not one of those in /_sim/openapi.json.")


async def _body_of(request: web.BaseRequest, model: type[_Body]) -> _Body:
    read = await wire.read(request, "control")
    if isinstance(read, wire.Unread):
        status = 413 if read is wire.Unread.TOO_LARGE else 400
        raise Trouble(status, "Unreadable body", f"The body is {read.value}.")
    try:
        return model.model_validate_json(read.body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            raise Trouble(400, "Not JSON", first["msg"]) from None
        place = ".".join(str(step) for step in first["loc"]) or "the body"
        expected = "no such field" if first["type"] == "extra_forbidden" else first["msg"]
        found = None if first["type"] == "missing" else first["input"]
        raise _invalid(place, expected, found) from None


def _invalid(place: str, expected: str, found: object, detail: str | None = None) -> Trouble:
    said = detail or f"{place}: {expected}"
    return Trouble(422, "Invalid", said, field=place, expected=expected, found=found)


def _held_object(held: HeldCall, now_s: float) -> dict[str, Any]:
    return {
        "call": held.call,
        "operation": held.operation,
        "account": held.account,
        "order": held.order,
        "source": held.source,
        "seam": held.seam,
        "until": asdict(held.until),
        "held_ms": round((now_s - held.parked_at_s) * 1000),
        "caller_gone": held.caller_gone,
    }


def _json(data: Any, status: int, content_type: str = "application/json") -> web.Response:
    return web.Response(
        status=status,
        body=json.dumps(data, default=str).encode(),
        content_type=content_type,
    )
