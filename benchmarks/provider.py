"""The provider over HTTP: keyed charges per second, beside the limit of this machine and a peer.

The limit is a bare aiohttp handler that parses the JSON and answers. Every server is a process of
its own on uvloop, the load comes from this one, and all sides take turns in one run. A server is
measured by its own processor time, so that the load generator and the neighbours count as little
as they can; requests per second of wall time are told beside it.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil
import uvloop
from aiohttp import web
from figures import Figures, arguments

from onecharge.history.recorder import Recorder
from simulator.core.messages import HttpRequest
from simulator.server import Simulator

CALLERS: Final = 8
LOAD: Final = 3_000
"""Requests in a row to one server: a processor's time is told in steps of 10 ms."""
JOURNALS: Final = {"memory": ">= 0.6", "history": ">= 0.4"}


def main() -> None:
    """Measure, print, write; or be one of the servers."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--localstripe", type=Path, metavar="PYTHON", help="where it is installed")
    parser.add_argument("--serve", choices=["bare", "memory", "history"], help=argparse.SUPPRESS)
    parser.add_argument("--filled", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        uvloop.run(serve(chosen.serve, chosen.filled))
        return
    share = 10 if chosen.quick else 1
    figures = Figures("the provider over HTTP, generic dialect, 8 callers")
    against_the_limit(figures, rounds=10 // share + 2)
    against_itself(figures, rounds=10 // share + 2, charges=200_000 // share)
    against_localstripe(figures, chosen.localstripe, rounds=5 // share + 1)
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


# What is measured.


def against_the_limit(figures: Figures, rounds: int) -> None:
    """New keys, replays, and half of each, against the bare handler."""
    mixes = {"new keys": new_charges, "replays": replays, "half replays": half_replays}
    with a_server("bare") as bare, a_server("memory") as memory, a_server("history") as history:
        servers = {"bare": bare, "memory": memory, "history": history}
        costs: dict[tuple[str, str], list[Cost]] = {}
        for server in servers.values():
            server.load(new_charges(1_000))  # warm, and something to be replayed
        for _ in range(rounds):
            for mix, requests in mixes.items():
                for name, server in servers.items():
                    cost = server.load(requests(LOAD))
                    costs.setdefault((mix, name), []).append(cost)
    for mix in mixes:
        for name in servers:
            rate = median(1 / cost.wall_s for cost in costs[mix, name])
            figures.add(f"{mix}, {name}", rate, "/s")
        for name, target in JOURNALS.items():
            share = typical(costs[mix, "bare"]) / typical(costs[mix, name])
            figures.add(f"{mix}, journal in {name}, share of the limit", share, "x", target)


def against_itself(figures: Figures, rounds: int, charges: int) -> None:
    """A server with many charges behind it against one that has just begun."""
    with a_server("memory", filled=charges) as old, a_server("memory") as young:
        costs: dict[str, list[Cost]] = {"old": [], "young": []}
        young.load(new_charges(1_000))
        old.load(new_charges(1_000))
        for _ in range(rounds):
            costs["young"].append(young.load(new_charges(LOAD // 3)))
            costs["old"].append(old.load(new_charges(LOAD // 3)))
    growth = typical(costs["old"]) / typical(costs["young"])
    figures.add(f"cost after {charges:,} charges against the first", growth, "x", "<= 1.25")


def against_localstripe(figures: Figures, python: Path | None, rounds: int) -> None:
    """The other fake provider, where it is installed in an environment of its own."""
    if python is None:
        print("localstripe: not measured; --localstripe names the Python that has it")
        return
    costs: dict[str, list[Cost]] = {"localstripe": [], "ours beside it": []}
    with localstripe(python) as peer, a_server("memory") as ours:
        ours.load(new_charges(1_000))
        charges = iter(peer.charges(200 * rounds))
        for _ in range(rounds):
            costs["localstripe"].append(peer.load(list(islice(charges, 200))))
            costs["ours beside it"].append(ours.load(new_charges(LOAD)))
    # By the wall's time: the peer writes all it knows to a file at each charge, and waits for it.
    rates = [median(1 / cost.wall_s for cost in each) for each in costs.values()]
    for name, rate in zip(costs, rates, strict=True):
        figures.add(f"new keys, {name}", rate, "/s")
    figures.add("new keys, times localstripe", rates[1] / rates[0], "x", ">= 50")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request cost, on average over a load."""

    processor_s: float
    wall_s: float


def typical(costs: list[Cost]) -> float:
    """Return the processor time of a request in the middle one of several loads."""
    return median(cost.processor_s for cost in costs)


# What is sent.

_numbers = count(1)


def new_charges(number: int) -> list[bytes]:
    """Return charges that nobody has asked for yet."""
    return [a_charge(next(_numbers)) for _ in range(number)]


def replays(number: int) -> list[bytes]:
    """Return charges that every server has made: the first thousand."""
    return [a_charge(1 + n % 1_000) for n in range(number)]


def half_replays(number: int) -> list[bytes]:
    """Return new charges and old ones in turns."""
    pairs = zip(new_charges(number // 2), replays(number // 2), strict=True)
    return [request for pair in pairs for request in pair]


def a_charge(number: int) -> bytes:
    body = json.dumps(_fields(number)).encode()
    headers = {"Authorization": "Bearer shop", "Idempotency-Key": f"key-{number}"}
    return a_post("/v1/charges", body, headers | {"Content-Type": "application/json"})


def a_post(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: provider\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _fields(number: int) -> dict[str, object]:
    order = f"ord-{number}"
    return {"amount_minor": 500, "currency": "EUR", "reference": order, "customer": "cus-1"}


# Who sends it.


@dataclass(slots=True)
class Server:
    """A server in a process of its own."""

    process: psutil.Process
    port: int

    def load(self, requests: list[bytes]) -> Cost:
        """Send everything over a few connections, and return what one request cost."""
        before_s, begun_s = self._processor_s(), time.perf_counter()
        uvloop.run(send(self.port, requests))
        wall_s = time.perf_counter() - begun_s
        spent_s = self._processor_s() - before_s
        return Cost(spent_s / len(requests), wall_s / len(requests))

    def _processor_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


async def send(port: int, requests: list[bytes]) -> None:
    """Send the requests, as many at a time as there are callers."""
    left = iter(requests)
    callers = []
    loop = asyncio.get_running_loop()
    for _ in range(CALLERS):
        _, caller = await loop.create_connection(
            lambda: Caller(left, loop.create_future()), "127.0.0.1", port
        )
        callers.append(caller.done)
    await asyncio.gather(*callers)


@dataclass(eq=False)
class Caller(asyncio.Protocol):
    """One connection: the next request leaves when the last one has been answered."""

    requests: Iterator[bytes]
    done: asyncio.Future[None]
    _transport: Any = None
    _buffer: bytes = field(default=b"", repr=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found or len(body) < _length_of(head):
            return
        assert head.startswith(b"HTTP/1.1 20"), head
        self._buffer = b""
        self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))

    def _next(self) -> None:
        if (request := next(self.requests, None)) is not None:
            self._transport.write(request)
        else:
            self.done.set_result(None)
            self._transport.close()


def _length_of(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0])


# Who answers.


@contextlib.contextmanager
def a_server(kind: str, *, filled: int = 0) -> Iterator[Server]:
    """Start one of our servers, and end it."""
    command = [sys.executable, __file__, "--serve", kind, "--filled", str(filled)]
    with subprocess.Popen(  # noqa: S603  # ourselves
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            yield Server(psutil.Process(process.pid), int(process.stdout.readline()))
        finally:
            process.terminate()


async def serve(kind: str, filled: int) -> None:
    """Be a server: print the port, and serve until the process is ended."""
    with contextlib.ExitStack() as stack:
        if kind == "bare":
            port = await serve_bare()
        else:
            simulator = Simulator()
            if kind == "history":
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                recorder = stack.enter_context(Recorder(folder / "history.jsonl"))
                simulator = Simulator(sink=recorder, together=recorder.together)
            for number in range(filled):
                body = json.dumps(_fields(-number)).encode()
                headers = {"authorization": "Bearer shop", "idempotency-key": f"old-{number}"}
                simulator.provider.receive(
                    HttpRequest("POST", "/v1/charges", (), headers, body), 0.0
                )
            await simulator.start()
            port = int(simulator.url().rpartition(":")[2])
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)  # as ``onecharge serve``; the bare handler as well
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def serve_bare() -> int:
    """Parse the JSON and answer: what any handler on aiohttp must do."""
    made = count(1)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        asked = json.loads(await request.read())
        answer = {"id": f"ch_{next(made)}", "object": "charge", "status": "captured", **asked}
        body = json.dumps(answer).encode()
        return web.Response(status=201, body=body, content_type="application/json")

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    return int(runner.addresses[0][1])


class Peer(Server):
    """localstripe, with a customer who can be charged."""

    customer: str = ""

    def charges(self, number: int) -> list[bytes]:
        """Return form-encoded charges of the customer, with a new key each."""
        form = {"amount": 500, "currency": "eur", "customer": self.customer}
        body = urllib.parse.urlencode(form).encode()
        headers = {"Authorization": "Bearer sk_test_1", "Content-Type": _FORM}
        return [
            a_post("/v1/charges", body, headers | {"Idempotency-Key": f"key-{n}"})
            for n in range(number)
        ]

    def become_ready(self) -> None:
        """Wait until it answers, then make the customer."""
        card = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2040, "cvc": 123}
        token = self._post("/v1/tokens", {f"card[{name}]": of for name, of in card.items()})
        self.customer = self._post("/v1/customers", {"source": token})

    def _post(self, path: str, form: dict[str, object]) -> str:
        request = urllib.request.Request(  # http, as written here
            f"http://127.0.0.1:{self.port}{path}",
            urllib.parse.urlencode(form).encode(),
            {"Authorization": "Bearer sk_test_1"},
        )
        for patience in reversed(range(100)):
            try:
                with urllib.request.urlopen(request) as answer:  # noqa: S310  # as above
                    return str(json.load(answer)["id"])
            except (ConnectionError, urllib.error.URLError):
                if not patience:
                    raise
                time.sleep(0.1)
        raise AssertionError


_FORM: Final = "application/x-www-form-urlencoded"


@contextlib.contextmanager
def localstripe(python: Path) -> Iterator[Peer]:
    """Start localstripe from the environment that has it, and end it."""
    port = 8421
    command = [str(python), "-m", "localstripe", "--from-scratch", "--port", str(port)]
    with subprocess.Popen(  # noqa: S603  # whoever runs this has named it
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            peer = Peer(psutil.Process(process.pid), port)
            peer.become_ready()
            yield peer
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
