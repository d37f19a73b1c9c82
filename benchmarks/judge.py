"""The judge: what a history of so many lines takes, from the disk to the verdict: time and memory.

Each size is judged in a process of its own, so that none inherits another's memory. The history is
that of a good day: each order is paid, some of them only after a lost reply, and told of by event.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from figures import Figures, arguments

from onecharge.history import Recorder, stream
from onecharge.verdict import judge_scenario
from simulator.core.journal import Entry, Kind

SIZES = (10_000, 100_000, 1_000_000)
LIMIT_S, LIMIT_MIB = 10, 1_024
ROUNDS = 3  # of which the least disturbed counts
RETRIED = 10  # every so many orders


def main() -> None:
    """Write histories, have each judged, print, write."""
    chosen = arguments(__doc__ or "").parse_args()
    sizes = SIZES[:-1] if chosen.quick else SIZES
    figures = Figures("the judge, from the disk to the verdict")
    with tempfile.TemporaryDirectory() as folder:
        for lines in sizes:
            path = Path(folder) / f"{lines}.jsonl"
            alone("write", str(path), str(lines))
            took_s, memory_mib = min(measured(path) for _ in range(ROUNDS))
            largest = lines == SIZES[-1]
            name = f"{lines:,} lines"
            figures.add(f"{name}: seconds", took_s, "s", f"<= {LIMIT_S}" if largest else "")
            figures.add(f"{name}: records per second", lines / took_s, "/s")
            figures.add(f"{name}: memory", memory_mib, "MiB", f"<= {LIMIT_MIB}" if largest else "")
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


def measured(path: Path) -> tuple[float, float]:
    """Return what it took another process to judge a history: seconds and MiB at most."""
    took = json.loads(alone("judge", str(path)))
    return took["seconds"], took["mib"]


def alone(*words: str) -> str:
    """Have a step done by a process of its own, and return what it says.

    Writing, too: a child's greatest memory begins with that of its parent.
    """
    command = [sys.executable, __file__, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def judge(path: Path) -> None:
    """Judge a history and tell what it took. Time is this process's alone."""
    began_s = time.process_time()
    verdict = judge_scenario(stream(path), repeat="")
    seconds = time.process_time() - began_s
    assert verdict.verdict == "holds", verdict.reasons
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    print(json.dumps({"seconds": seconds, "mib": mib}))


def write(path: Path, lines: int) -> None:
    """Write a history of about so many lines, as a run would have."""
    with Recorder(path, clock=count(1_000, 1_000).__next__) as recorder, recorder.together():
        about = {"what": "run", "scenario": "a good day", "seed": 1, "fair": True, "plan": []}
        recorder(Entry("judge", "invoke", about))
        orders = list(orders_for(recorder, lines))
        for phase in ("heal", "quiet", "read"):
            recorder(Entry("judge", "invoke", {"what": "phase", "phase": phase}))
            if phase == "heal":
                settled = {"what": "converged", "after_s": 0.5, "bound_s": 5.0}
                recorder(Entry("judge", "ok", settled))
        for number in orders:
            belief = {"what": "belief", "status": "succeeded", "charge": f"s-{number}"}
            belief |= {
                "amount_minor": 1_000 + number,
                "effects": 1,
                "effects_minor": 1_000 + number,
            }
            recorder(Entry("judge", "read", belief, f"ord-{number}", "shop", f"key-{number}"))


def orders_for(recorder: Recorder, lines: int) -> Iterator[int]:
    """Pay orders until so many lines are written, with the readings that are to come."""
    for number in count(1):
        if len(recorder.records) + number + 10 >= lines:
            return
        pay(recorder, number)
        yield number


def pay(recorder: Recorder, number: int) -> None:
    """Write what is seen of one order."""
    order, key, lost = f"ord-{number}", f"key-{number}", number % RETRIED == 0
    asked = press(recorder, number, 1)
    call, charge, event = f"call-{number}", f"ch_{number}", f"evt_{number}"
    received = receive(recorder, number, call)
    amount = {"amount_minor": 1_000 + number, "currency": "EUR"}
    about = {"charge": charge, "call": call, "operation": "charge.create", "reference": order}
    provider = (order, "sk_test", f"charge-{number}", received)
    taken = {"what": "charge.captured", **about, **amount, "customer": f"cus-{number}"}
    recorder(Entry("provider", "effect", taken, *provider))
    born = {"what": "event.created", "event": event, "type": "charge.captured", "charge": charge}
    told = recorder(Entry("provider", "effect", born, *provider))
    if lost:
        recorder(Entry("provider", "drop", {"what": "reply", "call": call, "how": "reset"}))
        answer(recorder, number, asked, outcome="unknown")
        asked = press(recorder, number, 2)
        call = f"call-{number}-again"
        receive(recorder, number, call)
    reply = {"what": "reply", "call": call, "status": 201, "charge": charge, "replayed": lost}
    recorder(Entry("provider", "send", reply, *provider))
    answer(recorder, number, asked, outcome="ok")
    attempt = {"what": "attempt", "attempt": f"att-{number}", "event": event}
    send = {**attempt, "delivery": f"dlv-{number}", "url": "http://127.0.0.1/webhooks", "copy": 1}
    sent = recorder(Entry("webhook", "send", send, order, cause=told))
    recorder(Entry("webhook", "ok", {**attempt, "status": 200}, order, None, key, sent))


def press(recorder: Recorder, number: int, attempt: int) -> int:
    """Write that a client asks."""
    value = {"what": "charge", "attempt": attempt, "amount_minor": 1_000 + number}
    value |= {"currency": "EUR", "customer": f"cus-{number}", "instance": "http://127.0.0.1"}
    lane = f"client:{number}"
    return recorder(Entry(lane, "invoke", value, f"ord-{number}", "shop", f"key-{number}"))


def answer(recorder: Recorder, number: int, asked: int, outcome: str) -> None:
    """Write what it was told."""
    value = {"what": "answer", "outcome": outcome, "status": 201, "charge": f"s-{number}"}
    value |= {"provider_charge": f"ch_{number}", "body": '{"status": "succeeded"}'}
    if outcome == "unknown":
        value = {"what": "answer", "outcome": outcome, "status": None, "error": "reset"}
    kind: Kind = "ok" if outcome == "ok" else "unknown"
    lane = f"client:{number}"
    recorder(Entry(lane, kind, value, f"ord-{number}", "shop", f"key-{number}", asked))


def receive(recorder: Recorder, number: int, call: str) -> int:
    """Write that the provider was called."""
    value = {"what": "call", "call": call, "operation": "charge.create", "method": "POST"}
    value |= {"path": "/v1/charges", "source": "service-1"}
    entry = Entry("provider", "receive", value, f"ord-{number}", "sk_test", f"charge-{number}")
    return recorder(entry)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", path, lines]:
            write(Path(path), int(lines))
        case ["judge", path]:
            judge(Path(path))
        case _:
            main()
