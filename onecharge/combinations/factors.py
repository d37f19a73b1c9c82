"""The factors of a charge service: what its customers, its provider and its machines may do.

Rule 1: faults come from the registry, all that are fair: a new one is combined at once. Those
        without a row in ``VARIATIONS`` are taken with their defaults.
Rule 2: calls are bent where the clean control was seen to make them.
Rule 3: what a service, or its world, cannot have is left out and named with the reason.
Rule 4: first comes what found most elsewhere: the request blocked, and the timeout after effect.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from onecharge.combinations.values import Call, Factor, Value
from onecharge.history.records import Record
from onecharge.history.story import Variant
from onecharge.keys import PairName, SingleName
from onecharge.scenario_file import SEAMS, Kill, Point
from onecharge.service_file import ServiceFile
from onecharge.steps import (
    Bill,
    BuyAgain,
    CrashDatabase,
    EdgeKeys,
    Leave,
    OtherTenant,
    Pay,
    PressAgain,
    PressLate,
    Refund,
)
from onecharge.variants import why_not
from simulator.catalogue import dialects, faults
from simulator.core.calls import LOOKUPS
from simulator.core.faults import Fault, Need
from simulator.core.rules import DELIVERY

FIRST: Final = ("refuse", "time_out_after_commit", "time_out_before_commit")

HELD_MS: Final = 300
"""For so long a call stands still where the customer leaves, or something crashes, meanwhile."""

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

_OFFSETS_MS: Final = (-10, 0, 10)
_DOWN_MS: Final = 500
_PAY: Final = Pay(do="pay")


def factors_of(file: ServiceFile, calls: Iterable[Call], *, own_database: bool) -> list[Factor]:
    """Return the factors of a service that makes these calls to charge an order."""
    return [
        _customer(file),
        _call(file, made := list(calls)),
        _retry(made),
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


# What customers do.


def _customer(file: ServiceFile) -> Factor:
    can = [Value("pays once"), *_patient(), *_impatient()]
    left_out = {}
    for variant in get_args(Variant):
        if variant == "same" or variant in _SAID_OTHERWISE:
            continue
        why = why_not(variant, file)
        name = _WORDS[variant]
        if why is None:
            steps = (_PAY, PressAgain(do="press", variant=variant))
            only_after = _ONLY_AFTER.get(variant, frozenset())
            can.append(Value(name, steps, variant=variant, only_after=only_after))
        else:
            left_out[name] = why
    for value, why in _for_others(file):
        if why is None:
            can.append(value)
        else:
            left_out[value.name] = why
    can.append(_edge_keys())
    return Factor("customer", tuple(can), left_out)


_WORDS: Final[Mapping[Variant, str]] = {
    "other_amount": "presses again with another amount",
    "other_currency": "presses again with another currency",
    "other_customer": "presses again as another customer",
    "other_operation": "asks for the money back under the same key",
    "header_jitter": "presses again with other headers",
    "json_jitter": "presses again with the body written anew",
    "new_key": "presses again under a new key",
}

_ONLY_AFTER: Final[Mapping[Variant, frozenset[str]]] = {"new_key": frozenset({"decline"})}
"""The presses that make sense after a certain fault only: no service claims that an order is paid
once under any number of keys, and after a decline another key is how a customer tries again."""

_SAID_OTHERWISE: Final[frozenset[Variant]] = frozenset({"other_tenant"})
"""The variants that are a step of their own: they need an order of the other tenant."""

assert set(get_args(Variant)) == _WORDS.keys() | _SAID_OTHERWISE | {"same"}


def _patient() -> Iterator[Value]:
    yield Value("presses again after the answer", steps=(_PAY, PressAgain(do="press")))
    yield Value(
        "presses again around the end of the first request",
        steps=(PressLate(do="press_late", offsets_ms=_OFFSETS_MS),),
        orders=1 + len(_OFFSETS_MS),
        subject=2,
        paced=True,
    )


def _impatient() -> Iterator[Value]:
    yield Value(
        "gives up early and presses again",
        steps=(Pay(do="pay", timeout_s=HELD_MS / 2_000), _PAY),
        faults=(_standing("before_commit"),),
    )
    for seam, says in (
        ("before_commit", "hangs up while the provider has the call"),
        ("after_commit", "hangs up once charged"),
    ):
        yield Value(
            says,
            steps=(Leave(do="leave", after_ms=HELD_MS // 2), _PAY),
            faults=(_standing(seam),),
        )


def _standing(seam: str) -> dict[str, Any]:
    stands = {"fault": "hold", "seam": seam, "until": "elapsed", "amount": HELD_MS, "times": 1}
    return stands | {"operation": "*"}


def _for_others(file: ServiceFile) -> Iterator[tuple[Value, str | None]]:
    same_key = Value(
        "another tenant's customer pays under the same key",
        steps=(_PAY, OtherTenant(do="other_tenant")),
        variant="other_tenant",
    )
    yield same_key, why_not("other_tenant", file)
    yield Value("buys the same once more, and means it", steps=(BuyAgain(do="buy_again"),)), None
    refunds = file.refund is not None and file.capabilities.refunds
    asks = Refund(do="refund", at_once=2)
    yield (
        Value("asks twice at once for the money back", steps=(_PAY, asks)),
        None if refunds else "the service file says of no refunds",
    )
    bills = file.capabilities.invoices and dialects()[file.provider.dialect].bills
    for copies, says in ((1, "is billed, and presses nothing"), (2, "is billed by two events")):
        billed = Value(says, steps=(Bill(do="bill", copies=copies),))
        yield billed, None if bills else "the service charges for no invoices"


def _edge_keys() -> Value:
    keys = EdgeKeys(do="edge_keys", single=get_args(SingleName), pairs=get_args(PairName))
    return Value("has keys at the edge of what is allowed", (keys,), orders=keys.takes, lone=True)


# What the provider does.


def _call(file: ServiceFile, made: Sequence[Call]) -> Factor:
    fitting, left_out = _fitting(
        file, lambda kind: not kind.bends("on_delivery") and "lookups" not in kind.needs
    )
    values = [
        Value(f"{_said(table)} at {call}", faults=({**table, **_placed(call)},))
        for table in fitting
        for call in made
    ]
    return Factor("call", (Value("the provider answers every call"), *values), left_out)


def _placed(call: Call) -> dict[str, Any]:
    nth = {} if call.nth == 1 else {"nth": call.nth}
    return {"operation": call.operation, "times": 1, **nth}


def _retry(made: Sequence[Call]) -> Factor:
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
        )
        for name in FIRST[:2]
        for call in again
    ]
    values += [
        Value(
            f"{name} at {says}",
            faults=({"fault": name, "operation": "*", "times": 1},),
            upon=frozenset(Call(operation) for operation in LOOKUPS),
        )
        for name, says in _LOOKING
    ]
    return Factor("retry", (Value("whatever the service tries again works"), *values))


_LOOKING: Final = (("lookup_fails", "the first look-up"),)
"""The faults that bend look-ups only: a plain charge makes none."""


def _delivery(file: ServiceFile) -> Factor:
    fitting, left_out = _fitting(file, lambda kind: kind.bends("on_delivery"))
    values = [
        Value(f"{_said(table)} of the news", faults=({**table, "operation": DELIVERY, "times": 1},))
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


def _crashes() -> Iterator[Value]:
    yield Value(
        "the database crashes in the middle",
        faults=(_standing("after_commit"),),
        crash=CrashDatabase(do="crash_database"),
        meanwhile=True,
    )
    yield Value(
        "the database is away for a while",
        crash=CrashDatabase(do="crash_database", down_ms=_DOWN_MS, meanwhile=True),
    )
