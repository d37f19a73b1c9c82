"""The simulator as one object: provider, gates, clock and sender behind listening sockets.

Rule 1: it lives on the caller's event loop and owns nothing outside it: no thread, no process.
Rule 2: what it starts it stops, and ``stop`` leaves no call half done: held calls are released
        and come to their end before the sockets close.
"""

import asyncio
import contextlib
import gc
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, Literal

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from simulator import wire
from simulator.app import App
from simulator.catalogue import dialects
from simulator.chains import read_chain
from simulator.clock import VirtualClock
from simulator.control import PREFIX, Control
from simulator.control.rights import is_loopback
from simulator.core.deliveries import Attempt
from simulator.core.events import Event
from simulator.core.faults import Tamper
from simulator.core.invoices import Invoice
from simulator.core.journal import Sink, Tally, Together, one_by_one
from simulator.core.ledger import Posting
from simulator.core.provider import Keys, Provider
from simulator.core.rules import Rule
from simulator.gates import Gates, Reason
from simulator.sender import Around, Sender
from simulator.timed_journal import TimedJournal

JournalKind = Literal["kept", "counted"]
"""Whether a simulator can tell all that happened, or only how often each thing has."""

SHUTDOWN_S: Final = 1.0
"""How long ``stop`` waits for callers who are in the middle of sending."""


class Simulator:
    """A payment provider on the network, and every handle to make it go wrong.

    Without a ``sink`` it keeps a journal of its own, or only counts what would stand in it, which
    is all that a soak needs beside the ledger. All that it writes of one call, it writes inside
    ``together``. One whose ``keys`` are ``ignored`` executes every call.
    ``time_scale`` is virtual seconds per real second. A ``token`` opens ``/_sim/`` to who shows
    it; without one only loopback may use it. ``route`` says where an attempt for an endpoint's
    URL really goes, as a load balancer would.
    ``chains`` says whether a request may ask for faults itself (``chains.py``); if it is not
    said, it may where only this machine can send one. Elsewhere such a request is refused.
    """

    def __init__(
        self,
        *,
        dialect: str = "generic",
        seed: int = 0,
        sink: Sink | None = None,
        together: Together = one_by_one,
        time_scale: float = 1.0,
        delivery_timeout_s: float = 10.0,
        token: str | None = None,
        route: Callable[[str], str] = str,
        chains: bool | None = None,
        keys: Keys = "honoured",
        journal: JournalKind = "kept",
        namespace: str = "",
    ) -> None:
        if dialect not in dialects():
            raise ValueError(f"no dialect {dialect!r}; there are {', '.join(dialects())}")
        self.dialect = dialect
        self.seed = seed
        self.clock = VirtualClock(time_scale)
        self._journal_kind = journal
        self._keys: Keys = keys
        self._namespace = namespace
        self._foreign_sink = sink
        self.journal = self._new_journal()
        self._together = together
        self._delivery_timeout_s = delivery_timeout_s
        self._route = route
        self._chains = chains
        self._app = App(self.clock, on_change=self._wake_sender, together=together)
        self._app.provider = self._new_provider()
        self._control = Control(self, token=token)
        self.around_delivery: Around = contextlib.nullcontext
        """May hold an attempt back before it is sent; virtual time and timeouts know nothing."""
        self._sender: Sender | None = None
        self._beginning = asyncio.Lock()
        self._runners: list[web.ServerRunner] = []
        self._urls: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<Simulator {self.dialect} seed {self.seed} at {self._urls or 'no address'}>"

    async def start(self, host: str = "127.0.0.1", ports: Mapping[str, int] | None = None) -> None:
        """Listen, on one socket per name (port 0: any that is free), and begin to deliver.

        The name of the socket a request came through is its ``source``.
        """
        assert not self._runners
        try:
            for name, port in ({"provider": 0} if ports is None else ports).items():
                await self._listen(name, host, port)
        except OSError:
            await self.stop()
            raise
        self.clock.restart()
        self._start_sender()

    async def stop(self) -> None:
        """End all faults and all calls, then close every connection."""
        async with self._beginning:
            self._finish_everything("shutdown")
            if self._sender is not None:
                await self._sender.stop()
                self._sender = None
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        self._urls.clear()

    async def reset(self, seed: int | None = None) -> None:
        """Begin again: a new provider, time 0, no plan, no endpoints; same addresses."""
        async with self._beginning:  # two at once would start two senders and know but one
            if self._sender is not None:
                await self._sender.stop()
            # From here on nothing is awaited: no call comes between the old provider and the new.
            self._finish_everything("reset")
            if seed is not None:
                self.seed = seed
            self.journal = self._new_journal()
            self._app.provider = self._new_provider()
            self.clock.restart()
            if self._sender is not None:
                self._start_sender()

    @property
    def provider(self) -> Provider:
        """The machine itself; a ``reset`` replaces it."""
        return self._app.provider

    @property
    def keys(self) -> Keys:
        """Whether idempotency keys mean anything; it may be set at any time, a reset keeps it."""
        return self._keys

    @keys.setter
    def keys(self, keys: Keys) -> None:
        self._keys = self.provider.keys = keys

    @property
    def gates(self) -> Gates:
        """The calls that are held, and the means to let them go on."""
        return self._app.gates

    @property
    def urls(self) -> Mapping[str, str]:
        """The address of every listening socket, by name."""
        return dict(self._urls)

    def url(self, name: str = "provider") -> str:
        """Return one address, without a slash at the end."""
        return self._urls[name]

    def arm(self, rules: Sequence[Rule], *, seed: int | None = None) -> None:
        """Put these rules in force instead of the present ones; a ``seed`` renews their chance."""
        self.provider.arm(rules, self.clock.now(), seed=seed)

    def arm_also(self, rule: Rule) -> str:
        """Put one more rule in force beside the present ones, and return what it is called."""
        return self.provider.plan.add(rule, self.clock.now())

    def disarm(self) -> None:
        """End all faults: rules, holds and silent connections. What has fired stays known."""
        self._finish_everything("disarmed")

    def fired(self) -> Mapping[str, int]:
        """Return how often each rule of the plan has fired."""
        return self.provider.plan.fired

    def add_endpoint(self, url: str, secret: str, account: str | None = None) -> None:
        """Tell ``url`` of every event to come, of one account or of all."""
        self.provider.add_endpoint(url, secret, account)

    def clear_endpoints(self) -> None:
        """Tell nobody anything any more."""
        for endpoint in tuple(self.provider.deliveries.endpoints):
            self.provider.remove_endpoint(endpoint.url, endpoint.account)

    def undelivered(self, orders: Collection[str] | None = None) -> int:
        """Return how much is under way or still to come: attempts, and decisions of the bank.

        With ``orders``, only what concerns one of them.
        """
        provider = self.provider
        return provider.unfinished if orders is None else provider.unfinished_of(orders)

    def attempts_under_way(self) -> int:
        """Return how many attempts are being made or due now."""
        return self.provider.deliveries.under_way(self.clock.now())

    def hasten_deliveries(self, orders: Collection[str] | None = None) -> None:
        """Send everything that waits for its time now; virtual time stands still.

        With ``orders``, only what concerns one of them.
        """
        self.provider.hasten(self.clock.now(), orders)
        self._wake_sender()

    def real_charges(self, reference: str) -> list[Posting]:
        """Return the captures that the provider's ledger holds for an order."""
        return self.provider.ledger.real_charges(reference)

    def resend(self, event: str) -> list[str]:
        """Deliver an event once more to all endpoints. Raises ``KeyError`` if there is none."""
        deliveries = self.provider.resend(event, self.clock.now())
        self._wake_sender()
        return [delivery.id for delivery in deliveries]

    def duplicate(self, event: str, *, copies: int, concurrent: bool, new_id: bool) -> list[str]:
        """Deliver an event so many times more. Raises ``KeyError`` if there is none."""
        deliveries = self.provider.duplicate(
            event, self.clock.now(), copies=copies, concurrent=concurrent, new_id=new_id
        )
        self._wake_sender()
        return [delivery.id for delivery in deliveries]

    def bill(self, invoice: Invoice) -> str:
        """Tell the endpoints that an invoice is due, and return the event's id."""
        event = self.provider.bill(invoice, self.clock.now())
        self._wake_sender()
        return event.id

    def forge(self, event: Event, tamper: Tamper) -> list[str]:
        """Tell the endpoints of an event that is not true, once, and return the attempts."""
        attempts = self.provider.forge(event, tamper, self.clock.now())
        if self._sender is not None:
            for attempt in attempts:
                self._sender.send(attempt)
        return [attempt.id for attempt in attempts]

    def reseed(self, seed: int) -> None:
        """Let chance begin anew, for the plan in force and for every reset to come."""
        self.seed = seed
        self.provider.plan.reseed(seed)

    @property
    def silences(self) -> int:
        """How many connections are open on which nothing will be said."""
        return self._app.silences

    def advance(self, seconds: float) -> None:
        """Move virtual time forward; what falls due is sent."""
        self.clock.advance(seconds)
        self._wake_sender()

    def _finish_everything(self, reason: Reason) -> None:
        self.provider.disarm()
        self.gates.release_all(reason)
        self._app.end_silences()

    def _new_journal(self) -> TimedJournal | Tally | None:
        if self._foreign_sink is not None:
            return None
        return TimedJournal() if self._journal_kind == "kept" else Tally()

    def _new_provider(self) -> Provider:
        sink = self.journal if self._foreign_sink is None else self._foreign_sink
        assert sink is not None
        return Provider(
            dialects()[self.dialect],
            seed=self.seed,
            sink=self._app.watching(sink),
            namespace=self._namespace,
            keys=self._keys,
            read_chain=self._read_chain,
        )

    def _read_chain(self, text: str) -> tuple[Rule, ...]:
        """Read the faults a request asks for, if it may. Raises ``ValueError``."""
        allowed = self._chains
        if allowed is None:
            allowed = all(
                is_loopback(address) for runner in self._runners for address in runner.addresses
            )
        if not allowed:
            raise ValueError("this simulator takes no faults from requests")
        return read_chain(text)

    async def _listen(self, name: str, host: str, port: int) -> None:
        server = _Door(self._app, partial(self._handle, source=name))
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        self._runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, host, port, backlog=1024).start()
        bound_host, bound_port = runner.addresses[0][:2]
        shown_host = f"[{bound_host}]" if ":" in bound_host else bound_host
        self._urls[name] = f"http://{shown_host}:{bound_port}"

    def _handle(self, request: web.BaseRequest, *, source: str) -> Awaitable[web.StreamResponse]:
        if request.path.startswith(PREFIX):
            return self._control.handle(request)
        return self._app.handle(request, source)

    def _start_sender(self) -> None:
        self._sender = Sender(
            self.provider,
            self.clock,
            timeout_s=self._delivery_timeout_s,
            on_answer=self._told,
            route=self._route,
            together=self._together,
            around=self._around,
        )
        self._sender.start()

    def _wake_sender(self) -> None:
        if self._sender is not None:
            self._sender.wake()

    def _around(self, attempt: Attempt) -> AbstractAsyncContextManager[object]:
        return self.around_delivery(attempt)

    def _told(self, attempt: Attempt) -> None:
        self.gates.delivered(attempt.account, attempt.order)


Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class _Line(RequestHandler):
    """One connection, on which even what is no HTTP is answered in the dialect's words."""

    __slots__ = ("_app",)

    def __init__(self, door: "_Door", app: App, **options: Any) -> None:
        super().__init__(door, **options)
        self._app = app

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status >= 500 or request.writer.output_size > 0:
            return super().handle_error(request, status, exc, message)
        reply = wire.response(self._app.refusal(wire.Unread.NO_HTTP))
        reply.force_close()
        return reply


class _Door(web.Server):
    """aiohttp's server, which also says at once that a caller has left."""

    def __init__(self, app: App, handler: Handler) -> None:
        # Bodies stay as they were sent: a provider checks them, and a gzip bomb is only bytes.
        super().__init__(handler, access_log=None, auto_decompress=False)
        self._app = app

    def __call__(self) -> RequestHandler:
        return _Line(self, self._app, loop=self._loop, **self._kwargs)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._app.caller_left(handler)


async def serve(
    *,
    dialect: str = "generic",
    seed: int = 0,
    host: str = "127.0.0.1",
    port: int = 0,
    time_scale: float = 1.0,
    delivery_timeout_s: float = 10.0,
    token: str | None = None,
    endpoints: Sequence[tuple[str, str]] = (),
    keys: Keys = "honoured",
    journal: JournalKind = "kept",
) -> None:
    """Run a simulator until SIGINT or SIGTERM; one JSON line on stdout says when it is ready.

    ``endpoints`` are the URLs that hear of every event, each with its secret.
    """
    simulator = Simulator(
        dialect=dialect,
        seed=seed,
        time_scale=time_scale,
        delivery_timeout_s=delivery_timeout_s,
        token=token,
        keys=keys,
        journal=journal,
    )
    # A charge makes no cycles. To look for them among all charges there are is time lost.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C ends the loop instead
            loop.add_signal_handler(number, ended.set)
    await simulator.start(host, {"provider": port})
    for url, secret in endpoints:
        simulator.add_endpoint(url, secret)
    try:
        ready = {"ready": True, "url": simulator.url(), "dialect": dialect, "seed": seed}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await ended.wait()
    finally:
        await simulator.stop()
