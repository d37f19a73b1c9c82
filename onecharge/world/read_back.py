"""Read back what the service itself believes: an order's status, and what it has booked.

Rule 1: there are three ways to ask, HTTP, SQL and a command; what is read by them means the same.
Rule 2: an answer that makes no sense is *unreadable* and says why; nobody guesses what it meant.
Rule 3: asking changes nothing, and ends.
Rule 4: a world has one who asks, and it asks for few orders at once, however many want to know: a
        service that has to open connections for us is late for everybody.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Final, Literal

import aiohttp
import jsonpath

from onecharge.history.outcomes import MEANING
from onecharge.press import Order, missing
from onecharge.service_file import Effects, Read, ServiceFile, Source, found
from onecharge.templates import filled_text, placeholders
from onecharge.world.commands import CommandFailed, Commands
from onecharge.world.sending import send
from simulator.redaction import redacted

AT_ONCE: Final = {"path": 8, "sql": 4, "command": 2}
"""So many questions are open at once, by the way of asking."""

Status = Literal["succeeded", "refunded", "failed", "pending", "absent", "unreadable"]

ABSENT = object()
"""What is read where the service has nothing about an order."""


class Unreadable(Exception):
    """What came back makes no sense; the message says why."""


@dataclass(frozen=True)
class Belief:
    """What the service says of one order; None where its file declares no way to ask.

    ``effects`` counts the credits booked for the order, ``effects_minor`` adds them up, and
    ``effects_by_event`` counts them by the event that caused them. ``refunded_minor`` is what the
    service believes it has given back.
    """

    status: Status | None = None
    charge: str | None = None
    amount_minor: int | None = None
    effects: int | None = None
    effects_minor: int | None = None
    error: str | None = None
    refunded_minor: int | None = None
    effects_by_event: dict[str, int] | None = None

    def as_value(self) -> dict[str, Any]:
        """Return the belief as the value of a history record."""
        return asdict(self)


class ReadBack:
    """Asks the first instance, the database or a command; all must believe the same."""

    def __init__(
        self,
        service_file: ServiceFile,
        urls: Sequence[str],
        session: aiohttp.ClientSession,
        commands: Commands | None = None,
    ) -> None:
        self._file = service_file
        self._url = urls[0]
        self._session = session
        self._commands = commands or Commands()
        self._within_s = service_file.timing.answers_within_s
        self._few = {way: asyncio.Semaphore(n) for way, n in AT_ONCE.items()}

    async def of(self, order: Order) -> Belief:
        """Return what the service believes of ``order``; an answer without sense says so."""
        status, booked = await asyncio.gather(self._status(order), self._effects(order))
        return Belief(**{**status, **booked, "error": status.get("error") or booked.get("error")})

    async def shown(self, order: Order) -> str:
        """Return what ``[read]`` finds of an order, as it is, for a person to look at."""
        read = self._file.read
        assert read is not None, "asked for only where the file has it"
        try:
            answer = await self._asked(read, order, order.values())
        except Unreadable as reason:
            return str(reason)
        return "nothing" if answer is ABSENT else redacted(json.dumps(answer, default=str))

    async def _status(self, order: Order) -> dict[str, Any]:
        read = self._file.read
        if read is None:
            return {}
        values = order.values()
        try:
            answer = await self._asked(read, order, values)
            if answer is ABSENT:
                return {"status": "absent"}
            return self._understood(_fields_of(read, answer, values))
        except Unreadable as reason:
            return {"status": "unreadable", "error": str(reason)}

    async def _effects(self, order: Order) -> dict[str, Any]:
        effects = self._file.effects
        if effects is None:
            return {}
        values = order.values()
        try:
            answer = await self._asked(effects, order, values)
        except Unreadable as reason:
            return {"error": f"effects: {reason}"}
        if answer is ABSENT:
            return _booked(effects, [])
        if effects.path is not None:
            return _booked(effects, jsonpath.findall(filled_text(effects.each, values), answer))
        if not isinstance(answer, list) or not all(isinstance(each, dict) for each in answer):
            return {"error": "effects: expected a list of objects"}
        return _booked(effects, answer)

    def _understood(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        answer, word = self._file.charge.answer, fields["status"]
        known: tuple[tuple[Status, Iterable[str]], ...] = (
            ("succeeded", answer.succeeded),
            ("failed", answer.failed),
            ("pending", answer.pending),
            ("refunded", answer.refunded),
        )
        if word is None:
            return {"status": "absent"}
        spelt = str(word).lower()
        status = next((s for s, words in known if spelt in {w.lower() for w in words}), None)
        if status is None:
            raise Unreadable(f"status {word!r} is no word of charge.answer")
        charge = fields["charge"]
        return {
            "status": status,
            "charge": None if charge is None else str(charge),
            "amount_minor": _whole(fields["amount_minor"]),
            "refunded_minor": _whole(fields["refunded_minor"]),
        }

    async def _asked(self, source: Source, order: Order, values: Mapping[str, Any]) -> Any:
        """Return what a source says: JSON data or rows, or ``ABSENT``. Raises ``Unreadable``."""
        if source.request is not None:
            async with self._few["path"]:
                return await self._heard(source, order, values)
        if source.sql is not None:
            async with self._few["sql"]:
                return await self._found(source, source.sql, values)
        async with self._few["command"]:
            return await self._printed(source, order, values)

    async def _heard(self, source: Source, order: Order, values: Mapping[str, Any]) -> Any:
        request = source.request
        assert request is not None
        if unknown := missing(request, values):
            return _never_told(order, unknown)
        heard = await send(self._session, self._url, order.request(request, values), self._within_s)
        if heard.status == 404:
            return ABSENT
        if heard.error or heard.status != 200 or heard.body is None:
            raise Unreadable(heard.error or f"HTTP {heard.status}")
        return heard.body

    async def _found(self, source: Source, sql: str, values: Mapping[str, Any]) -> Any:
        from onecharge.databases import DatabaseError, ask  # noqa: PLC0415 - few are asked by SQL

        url = filled_text(source.url, self._commands.values)
        parameters = {name: values.get(name) for name in source.parameters}
        try:
            rows = await asyncio.to_thread(
                ask,
                url,
                sql,
                parameters,
                folder=self._commands.folder,
                within_s=self._within_s,
            )
        except DatabaseError as error:
            raise Unreadable(str(error)) from None
        if isinstance(source, Read):
            return rows[0] if rows else ABSENT
        return rows

    async def _printed(self, source: Source, order: Order, values: Mapping[str, Any]) -> Any:
        assert source.command is not None
        if unknown := [n for n in placeholders(source.command) if n not in {*values, "python"}]:
            return _never_told(order, unknown)
        try:
            printed = await self._commands.output(source.command, self._within_s, values)
        except CommandFailed as error:
            raise Unreadable(str(error)) from None
        try:
            answer = json.loads(printed) if printed.strip() else None
        except ValueError:
            raise Unreadable(f"expected JSON, the command printed {printed[:80]!r}") from None
        if isinstance(source, Read) and not isinstance(answer, dict | None):
            raise Unreadable(f"expected a JSON object, the command printed {printed[:80]!r}")
        return ABSENT if answer is None else answer


def _never_told(order: Order, unknown: Sequence[str]) -> Any:
    """Say what it means that the answers to an order never told what is needed to ask for it."""
    if order.outcome is not None and order.settled and MEANING[order.outcome].kind == "fail":
        return ABSENT
    raise Unreadable(f"no answer ever told {{{unknown[0]}}}")


def _fields_of(read: Read, answer: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a belief, by whichever way they came."""
    if read.path is None:
        return {name: answer.get(name) for name in Read.FIELDS}
    paths = {name: getattr(read, name) for name in Read.FIELDS}
    return {
        name: found(filled_text(path, values), answer) if path else None
        for name, path in paths.items()
    }


def _booked(effects: Effects, nodes: Sequence[Any]) -> dict[str, Any]:
    if effects.path is not None:
        amounts = [found(effects.amount_minor, node) for node in nodes]
        events = [found(effects.event, node) for node in nodes] if effects.event else None
    else:
        named = {name for node in nodes for name in node}
        amounts = [node.get("amount_minor") for node in nodes]
        events = [node.get("event") for node in nodes] if "event" in named else None
    booked: dict[str, Any] = {"effects": len(nodes)}
    if events is not None:
        booked["effects_by_event"] = dict(Counter(str(each) for each in events if each is not None))
    whole = [_whole(amount) for amount in amounts]
    if None in whole:
        where = effects.amount_minor if effects.path is not None else "amount_minor"
        return {**booked, "error": f"effects: no integer at {where}"}
    return {**booked, "effects_minor": sum(amount for amount in whole if amount is not None)}


def _whole(amount: Any) -> int | None:
    """Return a number of minor units; databases and JSON write it in several types."""
    if isinstance(amount, bool) or not isinstance(amount, int | float | Decimal):
        return None
    return int(amount) if amount == int(amount) else None
