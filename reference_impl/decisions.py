"""What an outcome changes, whoever learnt of it: the response, an event or the reconciler.

Rule 1: what is known never goes back: a late failure does not undo a success.
Rule 2: a success is booked every time it is learnt of. That it is booked *once* is the
        business of a constraint in ``schema.py``, not of an if in here.
"""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

from reference_impl.charge import Charge, final_answer
from reference_impl.outcomes import Captured, Failed, Outcome, Unknown


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect on an account. ``refund`` is the provider's id of one."""

    kind: Literal["charge", "refund"]
    amount_minor: int
    refund: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The charge as it is to be stored, the entry to be booked, and what a person must see."""

    settled: Charge | None = None
    entry: Entry | None = None
    alarm: str | None = None


def decide(charge: Charge, outcome: Outcome) -> Decision:
    """Say what to store, what to book and what to raise an alarm about."""
    match outcome:
        case Captured(provider_charge, amount_minor):
            return _captured(charge, provider_charge, Entry("charge", amount_minor))
        case Failed(reason, provider_charge) if charge.status == "in_flight":
            ended = replace(charge, status="failed", failure=reason)
            return Decision(_answered(replace(ended, provider_charge=provider_charge)))
        case Failed() | Unknown():
            return Decision()
    assert_never(outcome)


def _captured(charge: Charge, provider_charge: str, entry: Entry) -> Decision:
    ended = replace(charge, status="succeeded", provider_charge=provider_charge, failure=None)
    match charge.status:
        case "in_flight":
            return Decision(_answered(ended), entry)
        case "failed":
            return Decision(_answered(ended), entry, "a charge recorded as failed took money")
        case "succeeded" if charge.provider_charge == provider_charge:
            return Decision(entry=entry)
        case "succeeded":
            return Decision(alarm="a second real charge for one key")
    assert_never(charge.status)


def _answered(ended: Charge) -> Charge:
    return replace(ended, reply=final_answer(ended))
