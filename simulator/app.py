"""The provider's HTTP side: a request goes into the machine, an action comes out and is done.

Rule 1: one handler for every path; the dialect knows the paths.
Rule 2: a call outlives its caller. What the machine holds is resumed and finished, whether or
        not anybody is left to hear the answer.
Rule 3: the machine is called on one event loop only, so it needs no lock.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from simulator import wire
from simulator.clock import VirtualClock
from simulator.core.journal import PROVIDER, Entry, Sink, Together
from simulator.core.messages import Action, Drop, Held, HttpReply, Reply, Waiting
from simulator.core.results import Problem
from simulator.gates import Gates, HeldCall, Reason

if TYPE_CHECKING:
    from simulator.core.provider import Provider


@dataclass(slots=True)
class Standing:
    """A call that stands still: how it came in, and the end that its caller waits for."""

    received: Entry
    caller_gone: bool
    ending: asyncio.Future[Reply | Drop]

    @property
    def call(self) -> str:
        """Its id, which is its own until the provider is reset."""
        call: str = self.received.value["call"]
        return call

    def held(self, action: Held) -> HeldCall:
        """Return the call as the gates know it."""
        return HeldCall(
            call=action.call,
            seam=action.seam,
            until=action.until,
            operation=self.received.value["operation"],
            account=self.received.tenant,
            order=self.received.order,
            source=self.received.value["source"],
            caller_gone=self.caller_gone,
        )


class App:
    """Everybody who has called the provider and waits for the end of it."""

    def __init__(
        self, clock: VirtualClock, *, on_change: Callable[[], None], together: Together
    ) -> None:
        self.gates = Gates(self._resume)
        self.provider: Provider  # set by whoever opens the door
        self._clock = clock
        self._on_change = on_change
        self._together = together
        self._standing: dict[str, Standing] = {}
        self._callers: dict[RequestHandler, Standing] = {}
        self._silent: dict[RequestHandler, asyncio.Future[None]] = {}
        self._latest = Entry(PROVIDER, "receive")

    def watching(self, sink: Sink) -> Sink:
        """Return a sink for the machine through which we see it move."""
        gates = self.gates

        def watch(entry: Entry) -> int:
            if gates.parked:
                gates.moved()
            if entry.kind == "receive":
                self._latest = entry
            return sink(entry)

        return watch

    async def handle(self, request: web.BaseRequest, source: str) -> web.StreamResponse:
        """Answer one request: now, later, or never."""
        read = await wire.read(request, source)
        if isinstance(read, wire.Unread):
            return await wire.answer(request, self.refusal(read))
        with self._together():
            action, *others = self.provider.receive(read, self._clock.now())
        received = self._latest
        self._do(others)
        self._on_change()
        if isinstance(action, Held | Waiting):
            action = await self._stand(request, received, action)
        else:
            self.gates.passed(action.call, received.value["operation"], received.order)
        if isinstance(action, Reply):
            return await wire.answer(request, action.reply)
        return await self._drop(request, action)

    def caller_left(self, connection: RequestHandler) -> None:
        """Take note that a connection was closed from the other side."""
        standing = self._callers.get(connection)
        if standing is not None and self._standing.get(standing.call) is standing:
            standing.caller_gone = True
            self.gates.caller_left(standing.call)
        self._end_silence(connection)

    def end_silences(self) -> None:
        """Reset every connection on which nothing would ever be said."""
        for connection in tuple(self._silent):
            self._end_silence(connection)

    def refusal(self, unread: wire.Unread) -> HttpReply:
        """Put into the dialect's words that a request never came to be a call."""
        match unread:
            case wire.Unread.TOO_LARGE:
                limit = f"a body has at most {wire.BODY_LIMIT_BYTES} bytes"
                problem = Problem("too_large", limit, status=413)
            case wire.Unread.BROKEN:
                problem = Problem("bad_request", "the body could not be read", status=400)
            case wire.Unread.NO_HTTP:
                problem = Problem("bad_request", "this is no HTTP request", status=400)
            case _:
                assert_never(unread)
        return self.provider.dialect.answer(problem)

    @property
    def silences(self) -> int:
        """How many connections are open on which nothing will be said."""
        return len(self._silent)

    async def _stand(
        self, request: web.BaseRequest, received: Entry, action: Held | Waiting
    ) -> Reply | Drop:
        """Wait until a call which stands still has come to its end."""
        connection = request.protocol
        standing = self._standing[action.call] = Standing(
            received, wire.is_gone(request), asyncio.get_running_loop().create_future()
        )
        self._callers[connection] = standing
        try:
            self._do([action])
            return await standing.ending
        finally:
            # After a reset, another call may stand here under this one's id.
            if self._standing.get(action.call) is standing:
                del self._standing[action.call]
            self._callers.pop(connection, None)

    def _resume(self, held: HeldCall, reason: Reason) -> None:
        """Let a call go on, to its next seam or to its end, and with it who waited for it."""
        self._do(self.provider.resume(held.call, self._clock.now(), reason))
        self._on_change()

    def _do(self, actions: list[Action]) -> None:
        """Do with calls that stand still, or stood still until now, what the machine says."""
        for action in actions:
            standing = self._standing[action.call]
            operation, order = standing.received.value["operation"], standing.received.order
            match action:
                case Held():
                    self.gates.park(standing.held(action))
                case Waiting():  # it has come as far as it can: who counts arrivals counts it
                    self.gates.passed(action.call, operation, order)
                case Reply() | Drop():
                    del self._standing[action.call]
                    if not standing.ending.done():
                        standing.ending.set_result(action)
                    self.gates.passed(action.call, operation, order)
                case _:
                    assert_never(action)

    async def _drop(self, request: web.BaseRequest, drop: Drop) -> web.StreamResponse:
        match drop.how:
            case "reset":
                return wire.reset(request)
            case "cut":
                assert drop.reply is not None
                return await wire.cut(request, drop.reply)
            case "silence":
                return await self._keep_silent(request)
            case _:
                assert_never(drop.how)

    async def _keep_silent(self, request: web.BaseRequest) -> web.StreamResponse:
        """Say nothing until the caller leaves or the faults are over."""
        connection = request.protocol
        if not wire.is_gone(request):
            end = self._silent[connection] = asyncio.get_running_loop().create_future()
            await end
        return wire.reset(request)

    def _end_silence(self, connection: RequestHandler) -> None:
        end = self._silent.pop(connection, None)
        if end is not None and not end.done():
            end.set_result(None)
