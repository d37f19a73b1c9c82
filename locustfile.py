"""Volume: customers who double-click and customers who lose patience, by the thousand.

    locust --headless -u 50 -t 20s                                  the reference: exit 0
    locust --headless -u 50 -t 20s --mutant no_client_key_guard     a double charge: exit 1

Locust measures latencies; whether money is right is judged at the end, on the provider's ledger,
by the same judge as in ``onecharge verify``. Exit codes: 0 holds, 1 violated, 2 wrong usage or
configuration, 3 unknown. What customers are told goes into a history segment of this process.

Rule 1: an answer that a customer may get (in flight, try later, a lost connection) is no failure
        of the run; only the verdict decides.
Rule 2: load goes to loopback only, to the service that was started for it.
"""

import itertools
import json
import random
import shlex
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, between, events, task
from locust.argument_parser import LocustArgumentParser
from locust.contrib.fasthttp import ResponseContextManager
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner

from onecharge.history.outcomes import REFUSED
from onecharge.history.recorder import Recorder
from onecharge.preparing import headers_printed, step_begins, step_ends
from onecharge.press import Heard, Order, Prepared, completion, invocation
from onecharge.service_file import ServiceFile, read_service_file
from onecharge.templates import filled_text
from onecharge.world.orders import amount_of

PATIENCE_S = 0.15
ANSWER_S = 10.0


class Mistake(Exception):
    """The run cannot begin; the message says why."""


@dataclass
class Shop:
    """The world under load, in a process of its own, and our segment of its history."""

    process: "subprocess.Popen[str]"
    service_file: ServiceFile
    urls: "itertools.cycle[str]"
    recorder: Recorder
    seed: int
    serials: "itertools.count[int]"
    lanes: "itertools.count[int]"

    @classmethod
    def open(cls, environment: Environment) -> "Shop":
        """Start a world and wait until it has passed its clean control."""
        if isinstance(environment.runner, MasterRunner | WorkerRunner):
            raise Mistake("one process only, for now: leave out --master, --worker and --processes")
        options = environment.parsed_options
        assert options is not None
        words = [
            f"--{name}={value}"
            for name in ("service", "mutant")
            if (value := getattr(options, name))
        ]
        repeat = shlex.join(["locust", *sys.argv[1:]])
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "onecharge.standing",
                f"--scenario={options.scenario}",
                f"--seed={options.seed}",
                f"--repeat={repeat}",
                *words,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        ready = _heard_from(process).get("ready")
        assert ready is not None
        service_file = read_service_file(Path(ready["service_file"]))
        if service_file.browser:
            raise Mistake("a service file with [[browser]] steps cannot be put under load, for now")
        return cls(
            process,
            service_file,
            itertools.cycle(ready["urls"]),
            Recorder(Path(ready["segments"]) / "locust.jsonl"),
            options.seed,
            itertools.count(1),
            itertools.count(1),
        )

    def new_order(self) -> Order:
        """Return an order nobody has sent yet, equal for equal seeds."""
        serial = next(self.serials)
        tenant, token = random.Random(serial).choice(list(self.service_file.tenants.items()))
        run = f"{self.seed:x}-{serial}"
        return Order(
            serial=serial,
            reference=f"ord-load-{run}",
            key=f"key-load-{run}",
            amount_minor=amount_of(self.service_file, serial),
            currency=self.service_file.orders.currency,
            customer=f"cus-load-{run}",
            tenant=tenant,
            token=token,
        )

    def headers_of(self, order: Order) -> dict[str, str]:
        """Return what the service file's ``headers_command`` prints for an order."""
        command = self.service_file.headers_command
        if not command:
            return {}
        values = {**order.values(), "python": sys.executable}
        words = [filled_text(word, values) for word in command]
        folder = self.service_file.service.folder
        return headers_printed(
            subprocess.check_output(words, cwd=folder, text=True, timeout=ANSWER_S)
        )

    def judged(self) -> dict[str, Any]:
        """Have the world healed and judged, and return its verdict as JSON data."""
        assert self.process.stdin is not None
        self.recorder.close()
        self.process.stdin.write("judge\n")
        self.process.stdin.flush()
        return _heard_from(self.process)

    def close(self) -> None:
        """Let the world stop everything it started."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def _heard_from(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Mistake(f"the world ended with code {process.wait()}")
    heard: dict[str, Any] = json.loads(line)
    if "mistake" in heard:
        raise Mistake(heard["mistake"])
    return heard


shop: Shop | None = None


@events.init_command_line_parser.add_listener
def _options(parser: LocustArgumentParser) -> None:
    """Add what is to be judged to Locust's own options."""
    group = parser.add_argument_group("onecharge", "What is put under load, and what goes wrong")
    group.add_argument("--service", metavar="FILE", help="The service file of the service to judge")
    group.add_argument("--mutant", metavar="NAME", help="The reference with one guard broken")
    group.add_argument(
        "--scenario", metavar="NAME", default="rush_hour", help="Whose faults are on"
    )
    group.add_argument("--seed", metavar="N", type=int, default=1, help="Decides ids and faults")


@events.init.add_listener
def _begin(environment: Environment, **_: Any) -> None:
    """Start the world before any user is born."""
    global shop  # noqa: PLW0603 - users are made by Locust and find their shop here
    try:
        shop = Shop.open(environment)
    except Mistake as mistake:
        sys.stderr.write(f"onecharge: {mistake}\n")
        sys.exit(2)


@events.quitting.add_listener
def _end(environment: Environment, **_: Any) -> None:
    """Say the verdict on the money, and let it be the exit code."""
    if shop is None:
        return
    try:
        heard = shop.judged()
    except Mistake as mistake:
        sys.stderr.write(f"onecharge: {mistake}\n")
        environment.process_exit_code = 3
        return
    finally:
        shop.close()
    verdict = heard["verdict"]
    environment.process_exit_code = {"holds": 0, "violated": 1}.get(verdict["verdict"], 3)
    _print_verdict(verdict, heard["folder"])


def _print_verdict(verdict: dict[str, Any], folder: str) -> None:
    [scenario] = verdict["scenarios"]
    print(f"\nonecharge: {verdict['verdict']}: {scenario['orders']} orders, ", end="")
    print(f"{scenario['charges']} real charges, {scenario['faults_fired']} faults fired")
    for invariant in verdict["invariants"]:
        found = invariant["violations"]
        if found:
            print(f"  {invariant['name']}: {found[0]['says']} (and {len(found) - 1} more like it)")
            print(f"    open   {found[0]['boundary']}: {found[0]['cause']}")
            print(f"    guard  {found[0]['guard']}")
            print(f"    repeat: {found[0]['repeat']}")
    for reason in scenario["reasons"]:
        print(f"  unknown: {reason}")
    for rule in verdict["not_reached"]:
        print(f"  unknown: the fault {rule['rule']} never fired")
    print(f"  histories: {folder}")


class _Customer(FastHttpUser):
    """Somebody who pays, again and again, an order at a time."""

    abstract = True
    host = "http://127.0.0.1"  # each press names its instance
    wait_time = between(0.0, 0.05)
    network_timeout = ANSWER_S
    connection_timeout = ANSWER_S

    def press(self, order: Order, patience_s: float = ANSWER_S) -> None:
        """Press *Pay* once and record what was told, as every driver does."""
        if shop is None:
            raise StopUser
        charge, url = shop.service_file.charge, next(shop.urls)
        lane = f"client:locust-{next(shop.lanes)}"
        if not self._ready(shop, lane, order):
            return
        cause = shop.recorder(invocation(lane, order, url))
        heard = self._sent("pay", url, order.request(charge), patience_s)
        shop.recorder(completion(lane, order, charge.answer, heard, cause))

    def _ready(self, shop: Shop, lane: str, order: Order) -> bool:
        """Take the steps before the first press of an order; tell whether it can be pressed."""
        if order.prepared:
            return True
        order.headers = shop.headers_of(order)
        for number, step in enumerate(shop.service_file.prepare, start=1):
            url = next(shop.urls)
            cause = shop.recorder(step_begins(lane, order, number, step, url))
            heard = self._sent("prepare", url, order.request(step), ANSWER_S)
            shop.recorder(step_ends(lane, order, number, step, heard, cause=cause))
            if order.trouble is not None:
                return False
        order.prepared = True
        return True

    def _sent(self, name: str, url: str, request: Prepared, patience_s: float) -> Heard:
        """Send a request and return what came back before patience ended."""
        heard = Heard(error=f"no answer within {patience_s:g} s")
        with (
            suppress(gevent.Timeout),
            gevent.Timeout(patience_s),
            self.client.request(
                request.method,
                url + request.path,
                name=name,
                headers=request.headers,
                data=request.body,
                catch_response=True,
            ) as answer,
        ):
            heard = _heard(answer)
            answer.success()  # whatever it is: only the verdict decides
        return heard


def _heard(answer: ResponseContextManager) -> Heard:
    if answer.status_code == 0:
        error = getattr(answer, "error", None)
        refused = isinstance(error, ConnectionRefusedError)
        return Heard(error=REFUSED if refused else str(error) or "no answer")
    headers = {name.lower(): text for name, text in (answer.headers or {}).items()}
    cookies = SimpleCookie(headers.get("set-cookie", ""))
    return Heard(
        status=answer.status_code,
        text=answer.text or "",
        retry_after="retry-after" in headers,
        headers=headers,
        cookies={name: morsel.value for name, morsel in cookies.items()},
    )


class DoubleClicker(_Customer):
    """Presses *Pay* twice at the same moment, then waits for an end."""

    weight = 2

    @task
    def pay(self) -> None:
        """Send two requests with one key at once, and go on asking until one is definite."""
        assert shop is not None
        order = shop.new_order()
        gevent.joinall([gevent.spawn(self.press, order), gevent.spawn(self.press, order)])
        _ask_until_definite(self, order)


class ImpatientRetrier(_Customer):
    """Gives up after a moment and presses again with the same key."""

    weight = 1

    @task
    def pay(self) -> None:
        """Lose patience once, then go on asking."""
        assert shop is not None
        order = shop.new_order()
        self.press(order, PATIENCE_S)
        _ask_until_definite(self, order)


def _ask_until_definite(customer: _Customer, order: Order) -> None:
    for _ in range(5):
        if order.settled:
            return
        gevent.sleep(0.1)
        customer.press(order)
