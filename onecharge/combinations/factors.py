"""The factors of a charge service: what its customers, its provider and its machines may do.

Rule 1: faults come from the registry, all that are fair: a new one is combined at once. Those
        without a row in ``VARIATIONS`` are taken with their defaults.
Rule 2: calls are bent where the clean control was seen to make them.
Rule 3: what a service, or its world, cannot have is left out and named with the reason.
Rule 4: first comes what found most elsewhere: the request blocked, and the timeout after effect.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from onecharge.combinations.customers import HELD_MS, customers, standing
from onecharge.combinations.values import Call, Factor, Value
from onecharge.history.records import Record
from onecharge.scenario_file import SEAMS, Kill, Point
from onecharge.service_file import ServiceFile
from onecharge.steps import CrashDatabase
from simulator.catalogue import faults
from simulator.core.calls import LOOKUPS
from simulator.core.faults import Fault, Need
from simulator.core.rules import DELIVERY

FIRST: Final = ("refuse", "time_out_after_commit", "time_out_before_commit")

VARIATIONS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "hold": [
        {"seam": seam, "until": "elapsed", "amount": HELD_MS // 2}
        for seam in ("on_receive", "before_commit", "after_commit")
    ],
    "deliver_before_reply": [{"at_most_ms": 1_000}],
    "redeliver": [
        {"copies": 3, "mode": mode, "new_id": new_id}
        for new_id in (False, True)
        for mode in ("sequential", "concurrent")
    ],
}
"""The faults whose default alone would say little, with the parameters they are combined with."""

_DOWN_MS: Final = 500


def factors_of(file: ServiceFile, calls: Iterable[Call], *, own_database: bool) -> list[Factor]:
    """Return the factors of a service that makes these calls to charge an order."""
    made = list(calls)
    return [
        customers(file, made),
        _call(file, made),
        _retry(file, made),
        _delivery(file),
        _death(file, made, own_database=own_database),
        Factor("concurrency", (Value("one after the other"), Value("two at once", at_once=2))),
    ]


def calls_in(records: Iterable[Record]) -> list[Call]:
    """Return the calls of the first order that was charged, in their order."""
    received = [r for r in records if (r.lane, r.kind, r.what) == ("provider", "receive", "call")]
    first = next((record.order for record in received if record.order is not None), None)
    seen: list[Call] = []
    for record in received:
        if record.order == first:
            operation = record.value["operation"]
            nth = 1 + sum(call.operation == operation for call in seen)
            seen.append(Call(operation, nth))
    return seen


# What the provider does.


def _call(file: ServiceFile, made: Sequence[Call]) -> Factor:
    fitting, left_out = _fitting(
        file, lambda kind: not kind.bends("on_delivery") and "lookups" not in kind.needs
    )
    values = [
        Value(
            f"{_said(table)} at {call}",
            faults=({**table, **_placed(call)},),
            means=_meaning(table["fault"]),
        )
        for table in fitting
        for call in made
    ]
    return Factor("call", (Value("the provider answers every call"), *values), left_out)


def _placed(call: Call) -> dict[str, Any]:
    nth = {} if call.nth == 1 else {"nth": call.nth}
    return {"operation": call.operation, "times": 1, **nth}


def _retry(file: ServiceFile, made: Sequence[Call]) -> Factor:
    """Return what goes wrong when the service calls once more than it does in peace."""
    operations = dict.fromkeys(call.operation for call in made)
    again = [
        Call(operation, 1 + max(call.nth for call in made if call.operation == operation))
        for operation in operations
    ]
    values = [
        Value(
            f"{name} at {call}",
            faults=({"fault": name, **_placed(call)},),
            upon=frozenset({call}),
            means=_meaning(name),
        )
        for name in FIRST[:2]
        for call in again
    ]
    fitting, left_out = _fitting(file, lambda kind: "lookups" in kind.needs)
    values += [
        Value(
            f"{_said(table)} at the first look-up",
            faults=({**table, "operation": "*", "times": 1},),
            upon=frozenset(Call(operation) for operation in LOOKUPS),
            means=_meaning(table["fault"]),
        )
        for table in fitting
    ]
    return Factor("retry", (Value("whatever the service tries again works"), *values), left_out)


def _delivery(file: ServiceFile) -> Factor:
    fitting, left_out = _fitting(file, lambda kind: kind.bends("on_delivery"))
    values = [
        Value(
            f"{_said(table)} of the news",
            faults=({**table, "operation": DELIVERY, "times": 1},),
            means=_meaning(table["fault"]),
        )
        for table in fitting
    ]
    return Factor("delivery", (Value("every event arrives once"), *values), left_out)


def _fitting(
    file: ServiceFile, wanted: Callable[[type[Fault]], bool]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the fair faults of one sort as tables, and those that have nothing to bend here."""
    there, left_out = [], {}
    for name, kind in sorted(faults().items(), key=_found_most_elsewhere):
        if not wanted(kind) or not kind.fair or kind.strikes_all:
            continue
        if lacking := file.capabilities.lacking(kind.needs):
            left_out[name] = ", ".join(_WITHOUT[need] for need in lacking)
            continue
        there += [{"fault": name, **parameters} for parameters in VARIATIONS.get(name, [{}])]
    return there, left_out


_WITHOUT: Final[Mapping[str, str]] = {
    "webhooks": "the service takes no events",
    "lookups": "the service never asks how a call went",
    "upstream_keys": "the service sends no keys",
}

assert _WITHOUT.keys() == set(get_args(Need))


def _found_most_elsewhere(named: tuple[str, type[Fault]]) -> int:
    name, _ = named
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _said(table: Mapping[str, Any]) -> str:
    """Say a fault in a few words: its name, and the parameters that tell it from others."""
    said = {"seam": table.get("seam"), "mode": table.get("mode")}
    new_id = "under new ids" if table.get("new_id") else None
    return " ".join(filter(None, (table["fault"], said["seam"], said["mode"], new_id)))


def _meaning(fault: str) -> str:
    """Return the sentence by which a fault describes itself."""
    return " ".join((inspect.getdoc(faults()[fault]) or "").partition("\n\n")[0].split())


# What dies.


def _death(file: ServiceFile, made: Sequence[Call], *, own_database: bool) -> Factor:
    left_out, values = {}, [Value("nobody dies")]
    for point, says in _POINTS.items():
        if not file.capabilities.restartable:
            left_out[says] = "the service cannot be killed and started again"
        elif point == "event_acknowledged" and not file.capabilities.webhooks:
            left_out[says] = "the service takes no events"
        elif point in SEAMS:
            values += [Value(f"{says} at {call}", kill=_kill(point, call)) for call in made]
        else:
            values.append(Value(says, kill=Kill(at=point, restart_after_ms=0)))
    if file.capabilities.restartable:
        values += [_with_its_call(call) for call in made]
    for value in _crashes():
        if own_database:
            values.append(value)
        else:
            left_out[value.name] = "the database is not ours to crash"
    return Factor("death", tuple(values), left_out)


_POINTS: Final[Mapping[Point, str]] = {
    "request_received": "the service is killed when a request has just left for it",
    "call_sent": "the service is killed when the provider has its call",
    "key_claimed": "the service is killed when the provider has claimed its key",
    "committed": "the service is killed when the provider has charged",
    "answered": "the service is killed when it has answered its customer",
    "event_acknowledged": "the service is killed when it has acknowledged an event",
}

assert _POINTS.keys() == set(get_args(Point))


def _kill(point: Point, call: Call) -> Kill:
    return Kill(at=point, operation=call.operation, nth=call.nth, restart_after_ms=0)


def _with_its_call(call: Call) -> Value:
    """Return the death of a service whose call has not left yet: nothing is made of it."""
    return Value(
        f"the service is killed, and its call with it, at {call}",
        faults=({"fault": "reset_before_commit", **_placed(call)},),
        kill=_kill("call_sent", call),
    )


def _crashes() -> Iterator[Value]:
    yield Value(
        "the database crashes in the middle",
        faults=(standing("after_commit"),),
        crash=CrashDatabase(do="crash_database"),
        meanwhile=True,
    )
    yield Value(
        "the database is away for a while",
        crash=CrashDatabase(do="crash_database", down_ms=_DOWN_MS, meanwhile=True),
    )
