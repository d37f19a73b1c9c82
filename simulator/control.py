"""``/_sim/``: how a test in any language arms faults, moves time and reads the truth.

Rule 1: every route is a row of ``ROUTES``; ``openapi.json`` says the same for people and tools.
Rule 2: a wrong request is answered by problem+json which names the field, and changes nothing.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, get_args

from aiohttp import web
from pydantic import ValidationError

from simulator import wire
from simulator.catalogue import PlanError, faults, rule_schema, rules_from, table_from
from simulator.control_bodies import (
    AdvanceBody,
    Body,
    DuplicateBody,
    EndpointBody,
    ForgeBody,
    NoBody,
    PlanBody,
    ResetBody,
    RotateBody,
    SeedBody,
)
from simulator.control_rights import Trouble, check_right
from simulator.core.charges import Charge
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.guises import in_status
from simulator.core.messages import Seam
from simulator.gates import HeldCall

if TYPE_CHECKING:
    from simulator.server import Simulator

PREFIX: Final = "/_sim/"


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


class Control:
    """Answers everything below ``/_sim/``."""

    def __init__(self, simulator: "Simulator", *, token: str | None = None) -> None:
        self._simulator = simulator
        self._token = token

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one control request; what is wrong with it is a 4xx."""
        try:
            check_right(request, self._token)
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
        self._simulator.arm(rules, seed=asked.body.seed)
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

    async def in_flight(self, _: Asked) -> Told:
        """Show what is under way: calls held, connections kept silent, attempts."""
        deliveries = self._simulator.provider.deliveries
        return Told(
            {
                "calls": (await self.held(_)).data["held"],
                "silences": self._simulator.silences,
                "attempts": [
                    {
                        "attempt": attempt,
                        "delivery": turn.delivery.id,
                        "event": turn.delivery.event.id,
                        "url": turn.delivery.endpoint.url,
                        "copy": turn.copy,
                    }
                    for attempt, turn in deliveries.attempts_in_flight().items()
                ],
            }
        )

    async def release_all(self, _: Asked) -> Told:
        """Let every held call go on, longest held first."""
        return Told({"released": self._simulator.gates.release_all("control")})

    async def release(self, asked: Asked) -> Told:
        """Let one held call go on."""
        [call] = asked.names
        if not self._simulator.gates.release(call, "control"):
            raise Trouble(404, "Not held", f"No call {call!r} is held now.")
        return Told({"call": call, "released": True})

    async def faults(self, _: Asked) -> Told:
        """Show every fault there is: what it does, whether it is fair, how a rule places it."""
        return Told(
            {
                "faults": [
                    {
                        "name": name,
                        "fair": fault.fair,
                        "says": inspect.getdoc(fault),
                        "seams": [seam for seam in get_args(Seam) if fault.bends(seam)],
                        "rule": rule_schema(name),
                    }
                    for name, fault in faults().items()
                ]
            }
        )

    async def clock(self, _: Asked) -> Told:
        """Show virtual time, and when something will be due."""
        clock = self._simulator.clock
        return Told(
            {
                "now_s": clock.now(),
                "time_scale": clock.time_scale,
                "next_wakeup_s": self._simulator.provider.next_wakeup(),
            }
        )

    async def reseed(self, asked: Asked) -> Told:
        """Let chance begin anew; nothing else changes."""
        self._simulator.reseed(asked.body.seed)
        return Told({"seed": self._simulator.seed})

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

    async def rotate(self, asked: Asked) -> Told:
        """Give an endpoint a new secret, and keep the old one beside it for a while."""
        body: RotateBody = asked.body
        simulator = self._simulator
        try:
            simulator.provider.rotate_secret(
                body.url,
                body.secret,
                body.account,
                now=simulator.clock.now(),
                keep_s=body.keep_s,
            )
        except KeyError:
            raise Trouble(404, "No such endpoint", f"Nobody listens at {body.url!r}.") from None
        except ValueError as error:
            raise _invalid("secret", f"what {simulator.dialect} takes: {error}", "…") from None
        return Told({"url": body.url, "account": body.account})

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

    async def events(self, _: Asked) -> Told:
        """Show every event, oldest first."""
        provider = self._simulator.provider
        return Told(
            {
                "events": [
                    {
                        "id": event.id,
                        "type": event.type,
                        "charge": event.charge_id,
                        "account": event.account,
                        "order": event.order,
                        "created_s": event.created_s,
                        "repeats": event.repeats,
                        "delivered": provider.deliveries.delivered(event.id),
                    }
                    for event in provider.events.values()
                ]
            }
        )

    async def duplicate(self, asked: Asked) -> Told:
        """Deliver an event several times more, one by one or at once, as itself or anew."""
        [event] = asked.names
        body: DuplicateBody = asked.body
        try:
            deliveries = self._simulator.duplicate(
                event,
                copies=body.copies,
                concurrent=body.mode == "concurrent",
                new_id=body.new_id,
            )
        except KeyError:
            raise Trouble(404, "No such event", f"There is no event {event!r}.") from None
        return Told({"event": event, "deliveries": deliveries}, 202)

    async def forge(self, asked: Asked) -> Told:
        """Tell an account's endpoints of an event that is not true, once."""
        body: ForgeBody = asked.body
        provider = self._simulator.provider
        made_up = Charge(
            body.charge,
            body.account,
            body.amount_minor,
            body.currency,
            body.reference,
            body.customer,
        )
        charge = in_status(provider.charges.get(body.charge, made_up), body.status)
        event_id = body.event or f"evt_forged_{len(provider.deliveries.by_id) + 1}"
        event = Event(event_id, body.type, charge, None, self._simulator.clock.now(), None)
        age_s = 3_600.0 if body.signature == "old" else 0.0
        attempts = self._simulator.forge(event, Tamper(body.signature, age_s=age_s))
        return Told({"event": event_id, "attempts": attempts}, 202)

    async def reset(self, asked: Asked) -> Told:
        """Begin again: no charges, no plan, no endpoints, time 0."""
        await self._simulator.reset(asked.body.seed)
        return Told({"seed": self._simulator.seed})

    async def openapi(self, _: Asked) -> Told:
        """Describe all of this to machines."""
        return Told(json.loads((resources.files("simulator") / "openapi.json").read_text()))


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked. Names in braces are handed over in their order."""

    method: str
    path: str
    answer: Callable[[Control, Asked], Awaitable[Told]]
    body: type[Body] = NoBody

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
    Route("GET", "/_sim/faults", Control.faults),
    Route("GET", "/_sim/in_flight", Control.in_flight),
    Route("GET", "/_sim/held", Control.held),
    Route("POST", "/_sim/held/release", Control.release_all),
    Route("POST", "/_sim/held/{call}/release", Control.release),
    Route("GET", "/_sim/clock", Control.clock),
    Route("POST", "/_sim/clock/advance", Control.advance, AdvanceBody),
    Route("GET", "/_sim/ledger", Control.ledger),
    Route("GET", "/_sim/journal", Control.journal),
    Route("GET", "/_sim/deliveries", Control.deliveries),
    Route("POST", "/_sim/endpoints", Control.add_endpoint, EndpointBody),
    Route("DELETE", "/_sim/endpoints", Control.clear_endpoints),
    Route("POST", "/_sim/endpoints/rotate", Control.rotate, RotateBody),
    Route("GET", "/_sim/events", Control.events),
    Route("POST", "/_sim/events/forge", Control.forge, ForgeBody),
    Route("POST", "/_sim/events/{event}/resend", Control.resend),
    Route("POST", "/_sim/events/{event}/duplicate", Control.duplicate, DuplicateBody),
    Route("POST", "/_sim/seed", Control.reseed, SeedBody),
    Route("POST", "/_sim/reset", Control.reset, ResetBody),
    Route("GET", "/_sim/openapi.json", Control.openapi),
)


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


async def _body_of(request: web.BaseRequest, model: type[Body]) -> Body:
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
    return Trouble(422, "Invalid", said, field=place, expected=expected, found=_shown(found))


def _shown(found: object) -> object:
    """Return what was found, if it is small; otherwise its beginning."""
    if found is None or isinstance(found, bool) or (isinstance(found, str) and len(found) < 200):
        return found
    return found if isinstance(found, int) and abs(found) < 2**53 else repr(found)[:200]


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
