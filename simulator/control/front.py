"""The door to ``/_sim/``: who may ask, what was asked, and the answer as JSON.

Rule 1: a wrong request is answered by problem+json which names the field, and changes nothing.
Rule 2: no live key and nobody's card number is in an answer, whoever sent it to the provider.
"""

import json
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from pydantic import ValidationError

from simulator import wire
from simulator.control.asks import Asked, Route, Trouble, invalid
from simulator.control.bodies import Body
from simulator.control.rights import check_right
from simulator.control.routes import ROUTES
from simulator.redaction import without_secrets

if TYPE_CHECKING:
    from simulator.server import Simulator

PREFIX: Final = "/_sim/"


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
            told = await route.answer(self._simulator, Asked(body, names, request.query))
        except Trouble as trouble:
            return _json(trouble.problem, trouble.status, "application/problem+json")
        if told.data is None:
            return web.Response(status=told.status)
        return _json(told.data, told.status)


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
        raise invalid(place, expected, found) from None


def _json(data: Any, status: int, content_type: str = "application/json") -> web.Response:
    return web.Response(
        status=status,
        body=json.dumps(without_secrets(data), default=str).encode(),
        content_type=content_type,
    )
