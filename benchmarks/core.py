"""The pure core: how fast it charges, what a charge weighs, and whether either ever grows.

Time is the processor's time of this process, so that neighbours count as little as they can, and
of several rounds the least disturbed one counts. Two sides of a ratio alternate in one run.
"""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from statistics import median

from figures import Figures, arguments

from simulator.core.deliveries import Answered
from simulator.core.journal import Journal, Sink, Tally
from simulator.core.messages import HttpRequest, Reply
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.generic import Generic
from simulator.faults.decline import Decline

FEW, MANY = 10, 10_000
HOUR_S = 3_600.0
SECRET = "whsec_c2VjcmV0IG9mIHRoZSBzaG9w"  # noqa: S105  # of nobody

_numbers = count(1)


def main() -> None:
    """Measure, print, write."""
    chosen = arguments(__doc__ or "").parse_args()
    share = 10 if chosen.quick else 1
    # As ``onecharge serve`` does: the core makes no cycles, so looking for them is in vain.
    gc.set_threshold(50_000, 20, 100)
    figures = Figures("the pure core, generic dialect")
    speed(figures, rounds=20 // share + 1)
    growth(figures, rounds=40 // share + 1)
    weight(figures, charges=20_000 // share)
    soak(figures, charges=50_000 // share)
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


def speed(figures: Figures, rounds: int) -> None:
    """Charges with a new key each, and replays, into a journal in memory."""
    new, again = [], []
    for _ in range(rounds):
        provider = a_provider(Journal())
        requests = [a_charge(f"key-{n}", f"ord-{n}") for n in range(2_000)]
        new.append(seconds_each(provider, requests))
        again.append(seconds_each(provider, requests))
    figures.add("keyed charges per second", 1 / min(new), "/s", ">= 25,000")
    figures.add("keyed charges per second, median round", 1 / median(new), "/s")
    figures.add("replays per second", 1 / min(again), "/s")


def growth(figures: Figures, rounds: int) -> None:
    """The cost of one operation where there is little, against where there is much."""
    much = a_provider_with(charges=MANY)
    for name, operation in OPERATIONS.items():
        costs = ratio(lambda: a_provider_with(charges=FEW), much, operation, rounds)
        figures.add(f"{name}: 10,000 charges against 10", costs, "x")
    ruled = a_provider_with(charges=FEW, rules=MANY)
    costs = ratio(lambda: a_provider_with(charges=FEW, rules=FEW), ruled, _charge, rounds)
    figures.add("charge: 10,000 rules against 10", costs, "x")


def weight(figures: Figures, charges: int) -> None:
    """What stays in memory of a charge: ledger, key and event; the journal has streamed away."""
    provider = a_provider(Tally())
    run(provider, (a_charge(f"warm-{n}", f"warm-{n}") for n in range(100)))
    gc.collect()
    tracemalloc.start()
    run(provider, (a_charge(f"key-{n}", f"ord-{n}") for n in range(charges)))
    gc.collect()
    bytes_each = tracemalloc.get_traced_memory()[0] / charges
    tracemalloc.stop()
    figures.add("memory per charge", bytes_each, "bytes", "<= 3,072")


def soak(figures: Figures, charges: int) -> None:
    """A long run in bounded mode: the ledger is exact, keys are forgotten, nothing else is kept."""
    tally = Tally()
    provider = a_provider(tally)
    most_keys = 0
    for number in range(charges):
        provider.receive(a_charge(f"key-{number}", f"ord-{number}"), number * HOUR_S / 100)
        most_keys = max(most_keys, provider.known_keys)
    captured_minor = sum(posting.amount_minor for posting in provider.ledger)
    assert captured_minor == 500 * charges
    assert provider.ledger.discrepancies() == []
    assert tally.counts["charge.captured"] == charges
    figures.add(f"most keys known during {charges:,} charges", most_keys, "keys", "<= 2,401")


def ratio(
    little: Callable[[], Provider], much: Provider, operation: Callable[[Provider], object], n: int
) -> float:
    """Return the cost where there is much as a multiple of that where there is little."""
    costs: list[list[float]] = [[], []]
    for _ in range(n):
        for side, provider in enumerate((little(), much)):
            begun_s = time.process_time()
            for _ in range(100):
                operation(provider)
            costs[side].append(time.process_time() - begun_s)
    return min(costs[1]) / min(costs[0])


def seconds_each(provider: Provider, requests: list[HttpRequest]) -> float:
    gc.collect()
    begun_s = time.process_time()
    run(provider, requests)
    return (time.process_time() - begun_s) / len(requests)


def run(provider: Provider, requests: Iterable[HttpRequest]) -> None:
    for request in requests:
        provider.receive(request, 0.0)


def a_provider(sink: Sink) -> Provider:
    return Provider(Generic(), sink=sink)


def a_provider_with(*, charges: int, rules: int = 0) -> Provider:
    """Return a provider with this much behind it, all of it told to an endpoint."""
    provider = a_provider(Tally())
    provider.add_endpoint("http://shop.test/hook", SECRET)
    provider.arm(Rule(Decline(), f"rule-{n}", order=f"nobody-{n}") for n in range(rules))
    run(provider, (a_charge(f"old-{n}", f"old-{n}") for n in range(charges)))
    _deliver(provider)
    return provider


def a_charge(key: str, order: str) -> HttpRequest:
    body = {"amount_minor": 500, "currency": "EUR", "reference": order, "customer": "cus-1"}
    return a_request("POST", "/v1/charges", key, json.dumps(body).encode())


def a_request(method: str, path: str, key: str = "", body: bytes = b"") -> HttpRequest:
    headers = {"authorization": "Bearer shop", "content-type": "application/json"}
    return HttpRequest(method, path, (), headers | ({"idempotency-key": key} if key else {}), body)


# One of each operation.


def _charge(provider: Provider) -> None:
    number = next(_numbers)
    provider.receive(a_charge(f"new-{number}", f"new-{number}"), 0.0)


def _replay(provider: Provider) -> None:
    [action] = provider.receive(a_charge("old-1", "old-1"), 0.0)
    assert isinstance(action, Reply)


def _read(provider: Provider) -> None:
    provider.receive(a_request("GET", "/v1/charges/ch_5"), 0.0)


def _list_undelivered(provider: Provider) -> None:
    undelivered = a_request("GET", "/v1/events")
    [action] = provider.receive(replace(undelivered, query=(("delivered", "false"),)), 0.0)
    assert isinstance(action, Reply)


def _authorise_and_cancel(provider: Provider) -> None:
    number = next(_numbers)
    body = b'{"amount_minor":500,"currency":"EUR","capture":false}'
    provider.receive(a_request("POST", "/v1/charges", f"new-{number}", body), 0.0)
    last = f"/v1/charges/ch_{len(provider.charges)}/cancel"
    provider.receive(a_request("POST", last, f"cancel-{number}"), 0.0)


def _deliver(provider: Provider) -> None:
    for attempt in provider.attempts_due(0.0):
        provider.attempt_finished(attempt, Answered(204), 0.0)


def _charge_and_deliver(provider: Provider) -> None:
    _charge(provider)
    _deliver(provider)


OPERATIONS: dict[str, Callable[[Provider], None]] = {
    "charge and delivery": _charge_and_deliver,
    "replay": _replay,
    "read": _read,
    "undelivered events listed": _list_undelivered,
    "authorise and cancel": _authorise_and_cancel,
}


if __name__ == "__main__":
    main()
