"""Read back what the service itself believes: an order's status, and what it has booked."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import aiohttp
import jsonpath

from onecharge.press import Order, prepared
from onecharge.service_file import Effects, Read, ServiceFile, found
from onecharge.templates import filled_text
from onecharge.world.customers import send

_AT_ONCE = 16

Status = Literal["succeeded", "failed", "pending", "absent", "unreadable"]


@dataclass(frozen=True)
class Belief:
    """What the service says of one order; None where its file declares no way to ask.

    ``effects`` counts the credits booked for the order and ``effects_minor`` adds them up.
    """

    status: Status | None = None
    charge: str | None = None
    amount_minor: int | None = None
    effects: int | None = None
    effects_minor: int | None = None
    error: str | None = None

    def as_value(self) -> dict[str, Any]:
        """Return the belief as the value of a history record."""
        return asdict(self)


class ReadBack:
    """Asks the first instance that runs; every instance must believe the same."""

    def __init__(
        self, service_file: ServiceFile, urls: Sequence[str], session: aiohttp.ClientSession
    ) -> None:
        self._file = service_file
        self._url = urls[0]
        self._session = session
        self._within_s = service_file.timing.answers_within_s
        self._few = asyncio.Semaphore(_AT_ONCE)

    async def of(self, order: Order) -> Belief:
        """Return what the service believes of ``order``; an answer that makes no sense says so."""
        async with self._few:
            status, booked = await asyncio.gather(self._status(order), self._effects(order))
        return Belief(**{**status, **booked, "error": status.get("error") or booked.get("error")})

    async def _status(self, order: Order) -> dict[str, Any]:
        read = self._file.read
        if read is None:
            return {}
        values = {**order.values(), "charge": order.charge or ""}
        heard = await send(self._session, self._url, prepared(read, values), self._within_s)
        if heard.status == 404:
            return {"status": "absent"}
        if heard.error or heard.status != 200 or heard.body is None:
            return {"status": "unreadable", "error": heard.error or f"HTTP {heard.status}"}
        return self._understood(read, heard.body, values)

    def _understood(self, read: Read, body: Any, values: dict[str, Any]) -> dict[str, Any]:
        answer = self._file.charge.answer
        word = found(filled_text(read.status, values), body)
        amount = found(filled_text(read.amount_minor, values), body) if read.amount_minor else None
        status: Status
        if word is None:
            status = "absent"
        elif word in answer.succeeded:
            status = "succeeded"
        elif word in answer.failed:
            status = "failed"
        elif word in answer.pending:
            status = "pending"
        else:
            return {"status": "unreadable", "error": f"status {word!r} is no word of charge.answer"}
        charge = found(filled_text(read.charge, values), body)
        return {
            "status": status,
            "charge": None if charge is None else str(charge),
            "amount_minor": amount if isinstance(amount, int) else None,
        }

    async def _effects(self, order: Order) -> dict[str, Any]:
        effects = self._file.effects
        if effects is None:
            return {}
        values = order.values()
        heard = await send(self._session, self._url, prepared(effects, values), self._within_s)
        if heard.status == 404:
            return {"effects": 0, "effects_minor": 0}
        if heard.error or heard.status != 200 or heard.body is None:
            return {"error": f"effects: {heard.error or f'HTTP {heard.status}'}"}
        return _booked(effects, heard.body, values)


def _booked(effects: Effects, body: Any, values: dict[str, Any]) -> dict[str, Any]:
    nodes = jsonpath.findall(filled_text(effects.each, values), body)
    amounts = [found(effects.amount_minor, node) for node in nodes]
    if not all(isinstance(amount, int) for amount in amounts):
        return {"effects": len(nodes), "error": f"effects: no integer at {effects.amount_minor}"}
    return {"effects": len(nodes), "effects_minor": sum(amounts)}
