"""What an outcome changes, whoever learnt of it: the response, an event or the reconciler.

Rule 1: what is known never goes back: a late failure does not undo a success.
Rule 2: a success is booked every time it is learnt of. That it is booked *once* is the
        business of a constraint in ``schema.py``, not of an if in here.
Rule 3: an answer, once given, stays; a charge that is captured later keeps its first answer.
"""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from reference_impl.answers import final_answer
from reference_impl.operation import Change, Operation, Status
from reference_impl.outcomes import Authorised, Captured, Failed, Outcome, Refunded, Unknown
from reference_impl.reservation import Refused


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect on an account. ``refund`` is the provider's id of one."""

    kind: Literal["charge", "refund"]
    amount_minor: int
    refund: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The operation as it is to be stored, the entry to be booked, what a person must see."""

    settled: Operation | None = None
    entry: Entry | None = None
    alarm: str | None = None


@dataclass(frozen=True, slots=True)
class Both:
    """What becomes of a capture or refund, and of the charge that it changes."""

    change: Decision
    charge: Decision = Decision()
    given_up_minor: int = 0


def decide(charge: Operation, outcome: Outcome) -> Decision:
    """Say what to store, what to book and what to raise an alarm about."""
    match outcome:
        case Captured(provider_charge, amount_minor):
            return _captured(charge, provider_charge, amount_minor)
        case Authorised(provider_charge) if charge.status == "in_flight":
            return Decision(_ended(charge, "authorised", provider_charge=provider_charge))
        case Failed(reason, provider_charge) if charge.status in {"in_flight", "authorised"}:
            return Decision(
                _ended(
                    charge,
                    "failed",
                    failure=reason,
                    provider_charge=provider_charge or charge.provider_charge,
                )
            )
        case Failed() | Authorised() | Unknown():
            return Decision()
        case Refunded():
            raise AssertionError("a refund is decided together with its charge")
    assert_never(outcome)


def decide_change(change: Operation, charge: Operation, outcome: Outcome) -> Both:
    """Say what an outcome of a capture or refund means, for it and for its charge."""
    assert change.status == "in_flight", "whoever holds the lease has not recorded yet"
    match outcome:
        case Captured():
            return Both(Decision(_ended(change, "succeeded")), decide(charge, outcome))
        case Refunded(refund, amount_minor):
            # Where only the amounts told us, the provider's event will name and book it.
            entry = None if refund is None else Entry("refund", amount_minor, refund)
            ended = _ended(change, "succeeded", provider_refund=refund)
            return Both(Decision(ended), Decision(entry=entry))
        case Failed(reason):
            given_up_minor = change.intent.amount_minor if change.kind == "refund" else 0
            ended = _ended(change, "failed", failure=reason)
            return Both(Decision(ended), given_up_minor=given_up_minor)
        case Authorised() | Unknown():
            return Both(Decision())
    assert_never(outcome)


def refusal(change: Change, charge: Operation) -> Refused | None:
    """Say why a charge cannot be changed like this, as far as the charge itself shows it."""
    match change.kind, charge.status:
        case _, "in_flight":
            return Refused(409, "charge_in_flight", "the charge is still being made", 1)
        case "capture", "authorised":
            asked = change.amount_minor
            if asked is not None and asked > charge.intent.amount_minor:
                return Refused(422, "exceeds", "more than was authorised cannot be captured")
            return None
        case "refund", "succeeded":
            return None
    detail = f"a {change.kind} is not possible: the charge is {charge.status}"
    return Refused(409, "not_possible", detail)


def _captured(charge: Operation, provider_charge: str, amount_minor: int) -> Decision:
    entry = Entry("charge", amount_minor)
    ended = _ended(
        charge,
        "succeeded",
        provider_charge=provider_charge,
        captured_minor=amount_minor,
        failure=None,
    )
    match charge.status:
        case "in_flight" | "authorised":
            return Decision(ended, entry)
        case "failed":
            return Decision(ended, entry, "a charge recorded as failed took money")
        case "succeeded" if charge.provider_charge == provider_charge:
            return Decision(entry=entry)
        case "succeeded":
            return Decision(alarm="a second real charge for one key")
    assert_never(charge.status)


def _ended(operation: Operation, status: Status, **more: str | int | None) -> Operation:
    ended = replace(operation, status=status, **more)  # type: ignore[arg-type]
    answered_already = operation.status == "authorised"
    return ended if answered_already else replace(ended, reply=final_answer(ended))
