"""A round of fuzzing: requests on many connections at once, and everything that is counted.

Rule 1: a round begins with a provider that knows nothing, and its seed says all that is sent.
Rule 2: an answer is a 2xx or a 4xx in JSON; no answer is one only to what is no HTTP.
Rule 3: what breaks rule 2 is ``Unasked``: it carries the request, byte for byte.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Final

from simulator.core.calls import CreateCharge
from simulator.core.journal import Entry
from simulator.server import Simulator
from tests.fuzz.corpus import Corpus, Sent, Surface
from tests.fuzz.templates import SHOP, Route
from tests.fuzz.walks import PAY
from tests.fuzz.written import on_the_wire

AT_ONCE: Final = 16
ROUND: Final = 2_500  # then the provider begins again: who lists everything grows with everything
PATIENCE_S: Final = 30.0
CUT_SHORT_S: Final = 0.1  # what is broken may promise more than it sends; nobody waits for that


class Unasked(Exception):
    """An answer that nobody asked for, or none at all."""

    def __init__(self, sent: Sent, answer: "Answer | None", round_seed: str) -> None:
        said = "no answer" if answer is None else f"{answer.status} {answer.body[:300]!r}"
        super().__init__(f"{said} to {sent.data[:600]!r} (round {round_seed!r})")
        self.sent = sent
        self.round_seed = round_seed


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


@dataclass
class Seen:
    """What has been sent and answered so far."""

    classes: Counter[str] = field(default_factory=Counter)
    routes: Counter[tuple[Route, str]] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)

    @property
    def requests(self) -> int:
        return sum(self.classes.values())

    def never(self, surface: Surface, class_: str = "2xx") -> list[Route]:
        """Return the routes that were never answered so."""
        return [route for route in surface.routes if not self.routes[route, class_]]

    def __call__(self, entry: Entry) -> int:
        """Take in a journal entry, to prove that everything can be written down."""
        said = [entry.lane, entry.kind, entry.order, entry.tenant, entry.key, dict(entry.value)]
        json.dumps(said, ensure_ascii=False).encode()
        if entry.kind == "receive":
            self.operations[entry.value["operation"]] += 1
        return self.operations.total()


@dataclass
class Barrage:
    """Fires rounds at a simulator of its own."""

    surface: Surface
    seen: Seen = field(default_factory=Seen)
    _meanwhile: set[asyncio.Task[Answer | None]] = field(default_factory=set)

    async def start(self) -> None:
        has_journal = self.surface.name == "control"  # which is to be read
        self.simulator = Simulator(
            dialect=self.surface.dialect,
            sink=None if has_journal else self.seen,
            delivery_timeout_s=1.0,
        )
        await self.simulator.start()
        self._port = int(self.simulator.url().rpartition(":")[2])

    async def stop(self) -> None:
        await self.simulator.stop()

    async def fire(self, round_seed: str, count: int) -> None:
        """Send so many requests. Raises ``Unasked``, and stops at the first of them."""
        await self.simulator.reset()
        walked = await self._walk(round_seed)
        corpus = Corpus(self.surface, Random(round_seed))
        to_send = islice(corpus, count - walked)
        try:
            async with asyncio.TaskGroup() as callers:
                for _ in range(AT_ONCE):
                    callers.create_task(self._call(to_send, round_seed))
        except* Unasked as found:
            raise found.exceptions[0] from None
        finally:
            self.simulator.disarm()  # whoever is still held goes on
            await asyncio.gather(*self._meanwhile)
        assert self.simulator.provider.ledger.discrepancies() == []

    async def again(self, sent: Sent) -> Answer | None:
        """Send one request to a provider that knows nothing."""
        await self.simulator.reset()
        line = Line(self._port)
        try:
            return await line.ask(sent.data, PATIENCE_S if sent.whole else CUT_SHORT_S)
        finally:
            line.hang_up()

    async def is_still_right(self) -> bool:
        """Tell whether a plain charge is still made, once."""
        await self.simulator.reset()
        dialect = self.simulator.provider.dialect
        plain = dialect.ask(CreateCharge(500, "EUR", "at-last", "cus-1"), SHOP, "at-last")
        assert plain is not None
        answer = await self.again(Sent(("POST", ""), on_the_wire(plain, last=True)))
        made = len(self.simulator.real_charges("at-last"))
        return answer is not None and answer.status // 100 == 2 and made == 1

    async def _call(self, to_send: Iterator[Sent], round_seed: str) -> None:
        line = Line(self._port)
        try:
            for number, sent in enumerate(to_send):
                if self.surface.name == "control" and number % 4 == 0:
                    self._something_happens(number)
                await self._send(line, sent, round_seed)
        finally:
            line.hang_up()

    async def _walk(self, round_seed: str) -> int:
        """Go through every route once, before chance begins."""
        line, steps = Line(self._port), self.surface.walk()
        try:
            for route, request in steps:
                if route == PAY:
                    self._something_happens(0)
                    while not self.simulator.gates.held():
                        await asyncio.sleep(0)
                    continue
                await self._send(line, Sent(route, on_the_wire(request, last=False)), round_seed)
        finally:
            line.hang_up()
        return sum(route != PAY for route, _ in steps)

    async def _send(self, line: "Line", sent: Sent, round_seed: str) -> None:
        answer = await line.ask(sent.data, PATIENCE_S if sent.whole else CUT_SHORT_S)
        if not _is_right(sent, answer):
            raise Unasked(sent, answer, round_seed)
        class_ = "no answer" if answer is None else f"{answer.status // 100}xx"
        self.seen.classes[class_] += 1
        self.seen.routes[sent.route, class_] += 1

    def _something_happens(self, number: int) -> None:
        """Let somebody pay meanwhile, so that there is something to be in control of."""
        provider = self.simulator.provider
        charge = CreateCharge(500, "EUR", f"ord-{number}")
        request = provider.dialect.ask(charge, SHOP, f"key-{number}")
        assert request is not None
        payment = Line(self._port).ask(on_the_wire(request, last=True), PATIENCE_S)
        task = asyncio.create_task(payment)
        self._meanwhile.add(task)
        task.add_done_callback(self._meanwhile.discard)


def _is_right(sent: Sent, answer: Answer | None) -> bool:
    if answer is None:
        return not sent.whole
    if not 200 <= answer.status < 500:
        return False
    return answer.status < 400 or not answer.body or _is_an_object(answer.body)


def _is_an_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


class Line:
    """One connection, kept as long as both sides want it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, data: bytes, patience_s: float) -> Answer | None:
        """Send a request and return its answer; a line that was closed meanwhile is opened anew."""
        fresh = self._open is None
        answer = await self._ask_once(data, patience_s)
        if answer is None and not fresh and patience_s == PATIENCE_S:
            answer = await self._ask_once(data, patience_s)
        return answer

    def hang_up(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    async def _ask_once(self, data: bytes, patience_s: float) -> Answer | None:
        if patience_s != PATIENCE_S:  # what is broken gets a line of its own
            self.hang_up()
        if self._open is None:
            self._open = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._open
        try:
            async with asyncio.timeout(patience_s):
                writer.write(data)
                head = await reader.readuntil(b"\r\n\r\n")
                status = int(head.split(None, 2)[1])
                length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
                speaks = length is not None and not data.startswith(b"HEAD ")
                body = await reader.readexactly(int(length[1])) if length and speaks else b""
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            self.hang_up()
            return None
        if patience_s != PATIENCE_S or b"\r\nconnection: close" in head.lower():
            self.hang_up()
        return Answer(status, body)
