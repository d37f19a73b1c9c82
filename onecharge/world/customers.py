"""Customers: they press *Pay*, lose patience, press again, and write down what they were told.

Rule 1: a customer whose call ended unknown is retired; the order stays open and a new lane
        goes on with the same key.
Rule 2: customers never judge.
Rule 3: what is still pending after an answer is followed up as the service file says: by the
        customer's browser at the provider, then by asking.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self

import aiohttp

from onecharge.history.judgement import decimal
from onecharge.history.outcomes import Outcome
from onecharge.history.story import Variant
from onecharge.press import (
    PLAIN,
    Operation,
    Order,
    Press,
    completion,
    invocation,
    missing,
    prepared,
)
from onecharge.retention import note_a_new_life
from onecharge.scenario_file import Customer
from onecharge.service_file import Browser, Poll, Request, ServiceFile
from onecharge.templates import filled_text
from onecharge.variants import jittered, values_of
from onecharge.world.commands import Commands
from onecharge.world.preparations import Preparations
from onecharge.world.sending import send
from simulator.core.journal import Entry, Kind, Sink

if TYPE_CHECKING:
    from onecharge.engine.last_byte import Connection, LastByte
    from onecharge.world.world import World


class Customers:
    """All customers of one scenario, over warm connections spread over the instances.

    ``provider_url`` is where their browsers find the provider, ``commands`` runs the service
    file's ``headers_command``. ``connections`` are those by which they press, one after the other.
    """

    def __init__(
        self,
        service_file: ServiceFile,
        urls: Sequence[str],
        sink: Sink,
        session: aiohttp.ClientSession,
        *,
        lane: str = "",
        provider_url: str = "",
        commands: Commands | None = None,
        connections: "Iterator[Connection] | None" = None,
    ) -> None:
        self._file = service_file
        self._urls = itertools.cycle(urls)
        self._sink = sink
        self._session = session
        self._connections = connections or ((url, session) for url in self._urls)
        self._provider_url = provider_url
        self._lanes = (f"client:{lane}{number}" for number in itertools.count(1))
        self._preparations = Preparations(
            service_file, self._urls, sink, session, commands or Commands()
        )

    @classmethod
    def in_world(
        cls,
        world: "World",
        sink: Sink,
        *,
        lane: str = "",
        connections: "Iterator[Connection] | None" = None,
    ) -> Self:
        """Return customers in a world, who write to ``sink``."""
        return cls(
            world.service_file,
            world.services.urls,
            sink,
            world.session,
            lane=lane,
            provider_url=world.browser_url,
            commands=world.commands,
            connections=connections,
        )

    async def pay(self, order: Order, customer: Customer) -> None:
        """Press *Pay* as the scenario's customers do, until a definite answer or resignation."""
        for attempt in range(customer.attempts):
            if attempt:
                await asyncio.sleep(customer.pause_ms / 1000)
            presses = customer.presses if attempt == 0 else 1
            await asyncio.gather(*(self.press(order, customer.timeout_s) for _ in range(presses)))
            if order.settled:
                return

    async def press(
        self,
        order: Order,
        timeout_s: float,
        press: Press = PLAIN,
        *,
        leave: asyncio.Event | None = None,
        last_byte: "LastByte | None" = None,
    ) -> Outcome | None:
        """Send one charge request, record what the customer was told, and return it.

        ``press`` says in what it differs from a plain one. When ``leave`` is set the customer
        closes the connection; a ``last_byte`` leaves with others. None: the order could not be
        prepared, and nothing was sent. Whether a variant is possible, ``variants.why_not`` tells.
        """
        variant, charge = press.variant, self._file.charge
        if variant == "other_operation":
            return await self._other_operation(order, timeout_s, press)
        lane = next(self._lanes)
        if not await self._preparations.ready(order, lane, timeout_s):
            return None
        attempt, (url, session) = next(order.attempts), next(self._connections)
        values = values_of(order, press, self._file, attempt)
        request = jittered(order.request(charge, values), variant, attempt)
        retention_s, now_s = self._file.provider.retention_s, time.monotonic()
        note_a_new_life(self._sink, order, values["key"], retention_s=retention_s, now_s=now_s)
        cause = self._sink(
            invocation(lane, order, url, sent=values, variant=variant, attempt=attempt)
        )
        heard = await send(session, url, request, timeout_s, leave=leave, last_byte=last_byte)
        outcome = self._record(
            completion(lane, order, charge.answer, heard, cause, key=values["key"], variant=variant)
        )
        if outcome == "pending" and not order.settled:
            await self._follow_up(order, lane, timeout_s)
        return outcome

    async def press_late(
        self,
        order: Order,
        timeout_s: float,
        second: Press = PLAIN,
        *,
        after_s: float,
        since: Literal["start", "answer"] = "answer",
    ) -> tuple[Outcome | None, Outcome | None]:
        """Press twice, the second time so long after the first one left or was answered.

        So an order can be probed around the end of its first request; to probe just before it,
        measure how long one takes and count since the start.
        """
        first = asyncio.create_task(self.press(order, timeout_s))
        try:
            if since == "answer":
                await asyncio.wait({first})
            await asyncio.sleep(max(0.0, after_s))
            told = await self.press(order, timeout_s, second)
            return await first, told
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    async def refund(
        self, order: Order, timeout_s: float, *, key: str, amount_minor: int | None = None
    ) -> Outcome | None:
        """Ask for money back, all of it by default, and return what the customer was told.

        The same ``key`` again is a retry of the same refund. None: nothing could be sent.
        """
        return await self.operate(order, timeout_s, _operation(order, "refund", key, amount_minor))

    async def capture(
        self, order: Order, timeout_s: float, *, key: str, amount_minor: int | None = None
    ) -> Outcome | None:
        """Ask for an authorised charge to be captured; otherwise as ``refund``."""
        return await self.operate(order, timeout_s, _operation(order, "capture", key, amount_minor))

    async def operate(
        self, order: Order, timeout_s: float, operation: Operation, variant: Variant = "same"
    ) -> Outcome | None:
        """Send an operation, the first time or once more, and return what was told.

        None: the service file has no such table, or what its request names is not known (yet).
        """
        template = self._file.refund if operation.what == "refund" else self._file.capture
        lane = next(self._lanes)
        if template is None or not await self._preparations.ready(order, lane, timeout_s):
            return None
        values = order.values() | {
            "key": operation.key,
            "amount_minor": operation.amount_minor,
            "amount_decimal": decimal(operation.amount_minor, order.currency),
        }
        if missing(template, values):
            return None
        url, attempt = next(self._urls), next(operation.attempts)
        cause = self._sink(
            invocation(
                lane,
                order,
                url,
                what=operation.what,
                sent=values,
                variant=variant,
                attempt=attempt,
            )
        )
        heard = await send(self._session, url, order.request(template, values), timeout_s)
        return self._record(
            completion(
                lane,
                order,
                template.answer,
                heard,
                cause,
                what=operation.what,
                key=operation.key,
                variant=variant,
                told=operation,
            )
        )

    async def pry(self, order: Order, timeout_s: float, tenant: str, token: str) -> list[Outcome]:
        """Have another tenant ask how an order went, and then for its money back.

        Returns what it was told; nothing if no request of the service file could do either.
        """
        stranger = replace(
            order,
            tenant=tenant,
            token=token,
            prepared=False,
            captured=dict(order.captured),
            headers={},
            cookies={},
            operations=[],
            attempts=itertools.count(1),
        )
        told = [await self._look(stranger, timeout_s)]
        refund = Operation("refund", f"{order.key}-pry", order.amount_minor)
        told.append(await self.operate(stranger, timeout_s, refund, "other_tenant"))
        return [outcome for outcome in told if outcome is not None]

    async def _look(self, stranger: Order, timeout_s: float) -> Outcome | None:
        """Have a stranger read an order as ``[read]`` does, or else ``[charge.poll]``."""
        answer, read, values = self._file.charge.answer, self._file.read, stranger.values()
        request: Request | None = self._file.charge.poll
        if read is not None and read.request is not None:
            request = read.request
            paths = {
                name: filled_text(getattr(read, name), values) for name in ("status", "charge")
            }
            answer = answer.model_copy(update=paths)
        lane = next(self._lanes)
        if request is None or missing(request, values):
            return None
        if not await self._preparations.ready(stranger, lane, timeout_s):
            return None
        url = next(self._urls)
        asked = invocation(lane, stranger, url, what="read", variant="other_tenant", attempt=0)
        cause = self._sink(asked)
        heard = await send(self._session, url, stranger.request(request), timeout_s)
        told = completion(lane, stranger, answer, heard, cause, what="read", variant="other_tenant")
        return self._record(told)

    async def ask(self, order: Order, lane: str | None = None) -> Outcome | None:
        """Ask once how the charge went, by ``[charge.poll]``; None if that cannot be asked."""
        poll = self._file.charge.poll
        values = order.values()
        if poll is None or missing(poll, values):
            return None
        lane = next(self._lanes) if lane is None else lane
        url = next(self._urls)
        cause = self._sink(invocation(lane, order, url, what="read", attempt=0))
        within_s = self._file.timing.answers_within_s
        heard = await send(self._session, url, order.request(poll, values), within_s)
        answer = self._file.charge.answer
        return self._record(completion(lane, order, answer, heard, cause, what="read"))

    async def _other_operation(
        self, order: Order, timeout_s: float, press: Press
    ) -> Outcome | None:
        """Ask for something else under the key of the charge."""
        what: Literal["refund", "capture"] = "capture" if self._file.refund is None else "refund"
        key = order.key if press.key is None else press.key
        operation = Operation(what, key, order.amount_minor)
        return await self.operate(order, timeout_s, operation, "other_operation")

    def _record(self, told: Entry) -> Outcome:
        """Write down what a customer was told, and return what it means."""
        self._sink(told)
        outcome: Outcome = told.value["outcome"]
        return outcome

    async def _follow_up(self, order: Order, lane: str, timeout_s: float) -> None:
        """Go on after an answer that reads as pending, as far as the service file says how."""
        for step in self._file.browser:
            if not await self._browse(order, lane, step, timeout_s):
                break
        if poll := self._file.charge.poll:
            await self._poll(order, lane, poll)

    async def _browse(self, order: Order, lane: str, step: Browser, timeout_s: float) -> bool:
        """Have the customer's browser speak to the provider itself; tell whether it was taken."""
        values = order.values()
        if missing(step, values):
            return False
        value = {"what": "browser", "method": step.method, "path": step.path}
        cause = self._sink(Entry(lane, "invoke", value, order.reference, order.tenant))
        request = prepared(step, values)  # without what only the service may see
        heard = await send(self._session, self._provider_url, request, timeout_s)
        kind: Kind = "unknown" if heard.status is None else "ok" if heard.status < 300 else "fail"
        done = {"what": "browser", "status": heard.status, "error": heard.error}
        self._sink(Entry(lane, kind, done, order.reference, order.tenant, None, cause))
        return kind == "ok"

    async def _poll(self, order: Order, lane: str, poll: Poll) -> None:
        """Ask until the outcome is known, for as long as the order's customer has patience left.

        Whoever has waited in vain once presses again and asks, and doesn't wait as long again.
        """
        began_s = time.monotonic()
        patience_s = poll.within_s - order.waited_s
        try:
            while not order.settled:
                await asyncio.sleep(poll.every_ms / 1000)
                if await self.ask(order, lane) is None or time.monotonic() > began_s + patience_s:
                    return
        finally:
            order.waited_s += time.monotonic() - began_s


def _operation(
    order: Order, what: Literal["refund", "capture"], key: str, amount_minor: int | None
) -> Operation:
    """Return the order's operation of that key, a new one if there is none."""
    for known in order.operations:
        if (known.what, known.key) == (what, key):
            return known
    amount_minor = order.amount_minor if amount_minor is None else amount_minor
    order.operations.append(made := Operation(what, key, amount_minor))
    return made
