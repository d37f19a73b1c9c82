"""One record in one sentence, and the lanes between which it travelled.

Rule 1: what a record is called is a row of ``_TOLD``; a record without a row is told by its own
        words, since a later version may write it.
Rule 2: a sentence names who acts; ids are shortened in the middle, amounts never.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from onecharge.history.judgement import money
from onecharge.history.records import Record

Mark = Literal[
    "asked", "told", "unclear", "call", "park", "release", "charge", "effect", "event", "reply",
    "lost", "fault", "crash", "start", "belief", "phase", "other",
]  # fmt: skip
Way = Literal["to_service", "from_service", "breaks_off"]

_WIDEST_ID: Final = 20


@dataclass(frozen=True, slots=True)
class Told:
    """How a record is drawn and told. ``way`` says how a message travelled, None: it was none."""

    mark: Mark
    says: str
    way: Way | None = None


def told(record: Record) -> Told:
    """Put a record into words."""
    lane = record.lane.partition(":")[0]
    telling = _TOLD.get((lane, record.kind, record.what)) or _TOLD.get((lane, "*", record.what))
    return telling(record) if telling else Told("other", f"{record.kind} {record.what}".strip())


def short(text: object) -> str:
    """Return an id that fits a line: its beginning and its end tell it from others."""
    text = str(text)
    return text if len(text) <= _WIDEST_ID else f"{text[:11]}…{text[-8:]}"


def _asked(record: Record) -> Told:
    value = record.value
    key = f"key {short(record.key)}" if record.key else "no key"
    return Told(
        "asked",
        f"asks for {_amount(value)} (attempt {value.get('attempt', 1)}, {key})",
        "to_service",
    )


def _answer(record: Record) -> Told:
    value = record.value
    outcome = _words(value.get("outcome", "unknown"))
    if record.kind == "unknown":
        why = value.get("error") or _status(value) or "no whole answer"
        return Told("unclear", f"cannot know how it ended: {why}")
    if outcome == "refused":
        return Told("told", "could not connect: not a byte was sent")
    charge = value.get("provider_charge") or value.get("charge")
    named = f", charge {short(charge)}" if charge else ""
    return Told("told", f"is told: {outcome}{_bracketed(value)}{named}", "from_service")


def _receive(record: Record) -> Told:
    value = record.value
    by = value.get("source") or "the service"
    key = f"provider key {short(record.key)}" if record.key else "no provider key"
    what = value.get("operation", "unknown")
    return Told("call", f"{by} calls {what} ({value.get('call')}, {key})", "from_service")


def _park(record: Record) -> Told:
    value = record.value
    seam = _words(value.get("seam", ""))
    until = _AWAITED.get(str(value.get("condition")), _words(value.get("condition", "let go")))
    return Told("park", f"{value.get('call')} is held {seam}, until {until}")


def _release(record: Record) -> Told:
    reason = record.value.get("reason", "")
    because = _AWAITED.get(str(reason), _words(reason))
    return Told("release", f"{record.value.get('call')} is let go: {because}")


def _captured(record: Record) -> Told:
    value = record.value
    return Told("charge", f"{_amount(value)} taken: real charge {value.get('charge')}")


def _effect(record: Record) -> Told:
    value = record.value
    what = record.what.removeprefix("charge.")
    return Told("effect", f"{value.get('charge')} {what}, {_amount(value)}")


def _event(record: Record) -> Told:
    value = record.value
    return Told("event", f"{value.get('event')} is born: {value.get('type')}")


def _reply(record: Record) -> Told:
    value = record.value
    again = ", replayed" if value.get("replayed") else ""
    return Told("reply", f"{value.get('call')} is answered{_bracketed(value)}{again}", "to_service")


def _drop(record: Record) -> Told:
    value = record.value
    how = _words(value.get("how", "lost"))
    return Told("lost", f"the answer to {value.get('call')} is lost: {how}", "breaks_off")


def _delivery(record: Record) -> Told:
    value = record.value
    forged = ", badly signed" if value.get("forged") else ""
    number = value.get("number", 1)
    return Told(
        "call", f"{value.get('event')} is delivered (attempt {number}{forged})", "to_service"
    )


def _delivered(record: Record) -> Told:
    value = record.value
    match record.kind:
        case "ok":
            return Told(
                "reply", f"{value.get('event')} is acknowledged{_bracketed(value)}", "from_service"
            )
        case "fail":
            return Told(
                "lost", f"{value.get('event')} is refused{_bracketed(value)}", "from_service"
            )
        case _:
            return Told("unclear", f"{value.get('event')}: no answer: {value.get('error', 'none')}")


def _fired(record: Record) -> Told:
    value = record.value
    return Told("fault", f"the fault {value.get('rule')} strikes {_words(value.get('seam', ''))}")


def _process(record: Record) -> Told:
    name = record.lane.partition(":")[2] or "the service"
    if record.kind == "crash":
        return Told("crash", f"{name} is killed")
    return Told("start", f"{name} starts")


def _belief(record: Record) -> Told:
    value = record.value
    words = [f"the service believes: {value.get('status') or 'nothing that can be asked'}"]
    if value.get("effects") is not None:
        words.append(f"{value['effects']} credit(s) booked")
    return Told("belief", ", ".join(words))


def _phase(record: Record) -> Told:
    name = record.value.get("phase")
    return Told("phase", "faults stop, healing begins" if name == "heal" else f"phase: {name}")


_TOLD: Final[Mapping[tuple[str, str, str], Callable[[Record], Told]]] = {
    ("client", "invoke", "charge"): _asked,
    ("client", "*", "answer"): _answer,
    ("provider", "receive", "call"): _receive,
    ("provider", "park", "call"): _park,
    ("provider", "release", "call"): _release,
    ("provider", "effect", "charge.captured"): _captured,
    **{
        ("provider", "effect", f"charge.{what}"): _effect
        for what in ("authorised", "pending", "declined", "cancelled", "refunded")
    },
    ("provider", "effect", "event.created"): _event,
    ("provider", "send", "reply"): _reply,
    ("provider", "drop", "reply"): _drop,
    ("webhook", "send", "attempt"): _delivery,
    ("webhook", "*", "attempt"): _delivered,
    ("fault", "effect", "fired"): _fired,
    ("process", "*", "process"): _process,
    ("judge", "read", "belief"): _belief,
    ("judge", "invoke", "phase"): _phase,
}


_AWAITED: Final[Mapping[str, str]] = {
    "arrived": "others have arrived",
    "caller_gone": "its caller has gone",
    "cap": "its time is up",
    "delivered": "its event is delivered",
    "elapsed": "its time is up",
    "quiet": "nothing else moves",
    "released": "the harness lets it go",
}
"""Why a call that was held goes on."""


def _words(name: object) -> str:
    return str(name).replace("_", " ")


def _amount(value: Mapping[str, Any]) -> str:
    minor = value.get("amount_minor")
    currency = str(value.get("currency", ""))
    return (
        money(minor, currency)
        if isinstance(minor, int)
        else f"an unknown amount {currency}".strip()
    )


def _status(value: Mapping[str, Any]) -> str:
    return "" if value.get("status") is None else f"HTTP {value['status']}"


def _bracketed(value: Mapping[str, Any]) -> str:
    status = _status(value)
    return f" ({status})" if status else ""
