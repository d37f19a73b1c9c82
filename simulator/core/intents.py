"""The life of a payment intent, as a table: one purpose, and every charge made for it.

Rule 1: every legal change of status is a row of ``TRANSITIONS``; anything else is illegal.
Rule 2: an intent never changes: every step returns a new one, so whoever holds one holds a fact.
Rule 3: it moves no money. Its charges do, one after the other, at the bank.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final

from simulator.core.charges import Impossible
from simulator.core.customers import Method
from simulator.core.values import value


class IntentStatus(StrEnum):
    REQUIRES_PAYMENT_METHOD = "requires_payment_method"
    REQUIRES_CONFIRMATION = "requires_confirmation"
    PROCESSING = "processing"
    REQUIRES_CAPTURE = "requires_capture"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"


class Step(StrEnum):
    PREPARE = "give a payment method to"
    CHANGE = "change"
    AWAIT = "confirm"  # and the bank will say later
    AUTHORISE = "authorise"
    SUCCEED = "confirm or settle"
    CAPTURE = "capture"
    FAIL = "fail"
    CANCEL = "cancel"


_OPEN: Final = (IntentStatus.REQUIRES_PAYMENT_METHOD, IntentStatus.REQUIRES_CONFIRMATION)

TRANSITIONS: Final[dict[tuple[IntentStatus, Step], IntentStatus]] = {
    **{(status, Step.PREPARE): IntentStatus.REQUIRES_CONFIRMATION for status in _OPEN},
    **{(status, Step.CHANGE): status for status in _OPEN},
    **{(status, Step.AWAIT): IntentStatus.PROCESSING for status in _OPEN},
    **{(status, Step.AUTHORISE): IntentStatus.REQUIRES_CAPTURE for status in _OPEN},
    **{(status, Step.SUCCEED): IntentStatus.SUCCEEDED for status in _OPEN},
    **{(status, Step.FAIL): IntentStatus.REQUIRES_PAYMENT_METHOD for status in _OPEN},
    **{(status, Step.CANCEL): IntentStatus.CANCELED for status in _OPEN},
    (IntentStatus.PROCESSING, Step.AUTHORISE): IntentStatus.REQUIRES_CAPTURE,
    (IntentStatus.PROCESSING, Step.SUCCEED): IntentStatus.SUCCEEDED,
    (IntentStatus.PROCESSING, Step.FAIL): IntentStatus.REQUIRES_PAYMENT_METHOD,
    (IntentStatus.REQUIRES_CAPTURE, Step.CAPTURE): IntentStatus.SUCCEEDED,
    (IntentStatus.REQUIRES_CAPTURE, Step.FAIL): IntentStatus.REQUIRES_PAYMENT_METHOD,
    (IntentStatus.REQUIRES_CAPTURE, Step.CANCEL): IntentStatus.CANCELED,
}
"""Succeeded means that the money of one charge moved; canceled, that none ever will."""


class IllegalStep(Impossible):
    """The table has no such row."""

    code = "intent_state"


@value(frozen=True, slots=True)
class Failure:
    """Why the last attempt to pay came to nothing."""

    charge: str
    code: str
    method: Method


@value(frozen=True, slots=True)
class Intent:
    """The wish to be paid once. ``terms`` is what the merchant said and only the API repeats.

    ``charge`` is its latest charge, ``captured_minor`` what that has brought in.
    """

    id: str
    account: str
    amount_minor: int
    currency: str
    reference: str | None
    customer: str | None
    capture: bool
    metadata: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, Any] = field(default_factory=dict)
    created_s: float = 0.0
    status: IntentStatus = IntentStatus.REQUIRES_PAYMENT_METHOD
    method: Method | None = None
    charge: str | None = None
    captured_minor: int = 0
    failure: Failure | None = None
    cancelled_s: float | None = None
    cancelled_because: str | None = None

    @property
    def client_secret(self) -> str:
        """What a customer's browser shows in place of a secret key; good for this intent only."""
        digest = hashlib.sha256(f"{self.account} {self.id}".encode("utf-8", "replace"))
        return f"{self.id}_secret_{digest.hexdigest()[:24]}"

    def after(self, step: Step) -> IntentStatus:
        """Return the status that a step leads to, or raise ``IllegalStep``."""
        try:
            return TRANSITIONS[self.status, step]
        except KeyError:
            raise IllegalStep(f"cannot {step} an intent that is {self.status}") from None

    def prepared(self, method: Method) -> "Intent":
        """Take a payment method; all it needs now is to be confirmed."""
        return replace(self, status=self.after(Step.PREPARE), method=method)

    def paid_by(self, step: Step, method: Method, charge: str) -> "Intent":
        """Go on by a new charge: authorised, awaited, or (``SUCCEED``) captured at once."""
        captured_minor = self.amount_minor if step is Step.SUCCEED else 0
        return replace(
            self,
            status=self.after(step),
            method=method,
            charge=charge,
            captured_minor=captured_minor,
            failure=None,
        )

    def captured(self, amount_minor: int) -> "Intent":
        """The money that was authorised has been taken, or a part of it."""
        return replace(self, status=self.after(Step.CAPTURE), captured_minor=amount_minor)

    def failed(self, failure: Failure) -> "Intent":
        """Go back to the beginning: another payment method may do better."""
        return replace(
            self,
            status=self.after(Step.FAIL),
            method=None,
            charge=failure.charge,
            failure=failure,
        )

    def cancelled(self, now: float, reason: str | None) -> "Intent":
        """Give it up before any money moves."""
        return replace(
            self, status=self.after(Step.CANCEL), cancelled_s=now, cancelled_because=reason
        )

    def __repr__(self) -> str:
        return f"<Intent {self.id} {self.status} {self.amount_minor} {self.currency}>"
