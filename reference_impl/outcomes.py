"""What an answer of the provider proves.

Rule 1: an outcome is *definite* (``Captured``, ``Failed``) or it is ``Unknown``. Whatever proves
        neither that money moved nor that it can't have is unknown.
Rule 2: this file decides and does nothing; it has no I/O, no clock and no chance.
"""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, assert_never

from pydantic import BaseModel, TypeAdapter, ValidationError

from reference_impl.operation import CHARGES, Operation


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of the provider. ``replayed``: it repeats the first one under this key."""

    status: int
    body: bytes
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """No whole answer came, so nothing is known of the effect."""

    how: Literal["timeout", "reset", "unreachable"]


class Then(Enum):
    """What can be done at once about an unknown outcome."""

    REPEAT = "make the same call with the same upstream key"
    LOOK = "ask by reference, since a replay would only repeat the error"
    WAIT = "nothing; the client's retry or the reconciler comes back to it"


@dataclass(frozen=True, slots=True)
class Captured:
    """Money moved: a real charge."""

    provider_charge: str
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Authorised:
    """The money is reserved and none has moved, as it was asked for."""

    provider_charge: str


@dataclass(frozen=True, slots=True)
class Refunded:
    """Money went back. ``refund`` is absent where only the amounts tell of it."""

    refund: str | None
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Failed:
    """No money moved, and none will under this upstream key."""

    reason: str
    provider_charge: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have happened. ``spent``: the upstream key can only ever repeat this error."""

    why: str
    then: Then
    spent: bool = False


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider, asked by reference, knows nothing of this operation."""


Outcome = Captured | Authorised | Refunded | Failed | Unknown

AFTER_LOSS: Final = {
    "reset": Then.REPEAT,
    "timeout": Then.WAIT,  # the patience of this request is used up
    "unreachable": Then.WAIT,
}


class ProviderCharge(BaseModel):
    """The provider's charge; of its many fields those that this service reads."""

    id: str
    status: Literal["pending", "authorised", "captured", "declined", "cancelled", "refunded"]
    amount_minor: int
    captured_minor: int = 0
    refunded_minor: int = 0
    currency: str
    reference: str | None = None
    metadata: dict[str, str] = {}
    decline_code: str | None = None


class ProviderRefund(BaseModel):
    """The provider's refund."""

    id: str
    amount_minor: int
    charge: str | None = None


def classify(  # noqa: PLR0911 - one row for each kind of answer
    answer: Answer | Lost, operation: Operation
) -> Outcome:
    """Say what is known after one call that asked for ``operation``."""
    makes_a_charge = operation.kind in CHARGES
    match answer:
        case Lost(how):
            return Unknown(how, AFTER_LOSS[how])
        case Answer(200 | 201, body) if operation.kind == "refund":
            return _refunded_by(body, operation)
        case Answer(200 | 201, body):
            return _told_by(body, operation)
        case Answer(402, body) if operation.kind != "refund":
            return _told_by(_member(body, "charge"), operation)
        case Answer(400 | 422, body) if makes_a_charge and not _speaks_of_the_key(body):
            return Failed(_code(body) or "refused")
        case Answer(400 | 402 | 404 | 409 | 422 as status, body) if not (
            makes_a_charge or _speaks_of_the_key(body)
        ):
            # "Not possible" may be the echo of our own first call: the charge itself knows.
            return Unknown(_code(body) or f"provider_{status}", Then.LOOK, spent=True)
        case Answer(status, _, replayed) if status >= 500 or replayed:
            # Whatever the error is, one that is replayed is bound to the key and never passes.
            return Unknown(f"provider_{status}", Then.LOOK, spent=replayed)
        case Answer(status):
            # 409 and 429 pass. 401, 404 and the like are our own mistake, and the customer is
            # not told that they failed. All of them are asked again.
            return Unknown(f"provider_{status}", Then.WAIT)
    assert_never(answer)


def told(  # noqa: PLR0911 - one row for each status
    seen: ProviderCharge, operation: Operation
) -> Outcome:
    """Say what the provider's charge, shown by an answer or an event, means for ours."""
    if not _is_meant(seen, operation):
        return Unknown("another_charge", Then.WAIT)
    match seen.status:
        case "captured" | "refunded":
            captured_minor = seen.captured_minor or seen.amount_minor
            if operation.kind == "capture" and captured_minor != operation.intent.amount_minor:
                return Failed("captured_otherwise", seen.id)
            return Captured(seen.id, captured_minor)
        case "declined":
            return Failed(seen.decline_code or "declined", seen.id)
        case "cancelled":
            return Failed("cancelled", seen.id)
        case "authorised" if operation.kind in CHARGES and not operation.intent.capture:
            return Authorised(seen.id)
        case "pending" | "authorised":
            # A replay repeats the first answer for ever; a look shows what became of it.
            return Unknown(seen.status, Then.LOOK)
    assert_never(seen.status)


def found(answer: Answer | Lost, operation: Operation) -> Outcome | Absent:
    """Say what is known after asking the provider for the charges with our reference."""
    listed = _charges_in(answer)
    if listed is None:
        return Unknown("no_look_up", Then.WAIT)
    match operation.kind:
        case "charge" | "invoice":
            return _charge_among(listed, operation)
        case "capture" | "refund":
            changed = [seen for seen in listed if seen.id == operation.provider_charge]
            if not changed:
                return Unknown("no_such_charge", Then.WAIT)
            seen_by = _capture_on if operation.kind == "capture" else _refund_on
            return seen_by(changed[0], operation)
    assert_never(operation.kind)


def after_look(outcome: Unknown, look: Outcome | Absent) -> Outcome:
    """Say what is known once a look-up followed an unknown outcome."""
    match look:
        case Captured() | Authorised() | Refunded() | Failed():
            return look
        case Unknown(why):
            return Unknown(why, Then.WAIT)
        case Absent() if outcome.spent:
            # The call ended, its error is bound to the key, and it took nothing.
            return Failed(outcome.why)
        case Absent():
            return Unknown(outcome.why, Then.REPEAT)
    assert_never(look)


def _charge_among(listed: list[ProviderCharge], operation: Operation) -> Outcome | Absent:
    # Another client key may have paid for the same order; our own id tells them apart.
    ours = [
        told(seen, operation) for seen in listed if seen.metadata.get("charge_id") == operation.id
    ]
    captured = (outcome for outcome in ours if isinstance(outcome, Captured))
    return next(captured, ours[0] if ours else Absent())


def _capture_on(seen: ProviderCharge, operation: Operation) -> Outcome | Absent:
    return Absent() if seen.status == "authorised" else told(seen, operation)


def _refund_on(seen: ProviderCharge, operation: Operation) -> Outcome | Absent:
    # A charge has one refund of ours under way at a time. So what went back, beyond what our
    # earlier refunds explain, is this one if it is enough for it.
    unexplained_minor = seen.refunded_minor - operation.refunded_before_minor
    if unexplained_minor < operation.intent.amount_minor:
        return Absent()
    return Refunded(None, operation.intent.amount_minor)


def _is_meant(seen: ProviderCharge, operation: Operation) -> bool:
    if operation.kind not in CHARGES:
        return seen.id == operation.provider_charge
    intent = operation.intent
    asked = (intent.order, intent.amount_minor, intent.currency)
    return (seen.reference, seen.amount_minor, seen.currency) == asked


_CHARGES = TypeAdapter(list[ProviderCharge])


def _told_by(body: bytes, operation: Operation) -> Outcome:
    try:
        seen = ProviderCharge.model_validate_json(body)
    except ValidationError:
        return Unknown("garbage", Then.REPEAT)
    return told(seen, operation)


def _refunded_by(body: bytes, operation: Operation) -> Outcome:
    try:
        refund = ProviderRefund.model_validate_json(body)
    except ValidationError:
        return Unknown("garbage", Then.REPEAT)
    if (refund.charge, refund.amount_minor) != (
        operation.provider_charge,
        operation.intent.amount_minor,
    ):
        return Unknown("another_refund", Then.WAIT)
    return Refunded(refund.id, refund.amount_minor)


def _charges_in(answer: Answer | Lost) -> list[ProviderCharge] | None:
    if not isinstance(answer, Answer) or answer.status != 200:
        return None
    try:
        return _CHARGES.validate_json(_member(answer.body, "data"))
    except ValidationError:
        return None


def _speaks_of_the_key(body: bytes) -> bool:
    # "This key came with another payload" says nothing of what happened under the key before.
    return "key" in _code(body)


def _code(body: bytes) -> str:
    return _member(body, "code").decode().strip('"')


def _member(body: bytes, name: str) -> bytes:
    """Return one member of a JSON object as JSON, or nothing if there is none."""
    try:
        return json.dumps(json.loads(body)[name]).encode()
    except (ValueError, LookupError, TypeError):
        return b""
