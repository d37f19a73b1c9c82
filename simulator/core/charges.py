"""The life of a charge, as a table.

Rule 1: every legal change of status is a row of ``TRANSITIONS``; anything else is illegal.
Rule 2: a charge never changes: every step returns a new one, so whoever holds one holds a fact.
Rule 3: this file knows nothing of HTTP, keys, faults or time.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from simulator.core.values import value


class Status(StrEnum):
    PENDING = "pending"
    AUTHORISED = "authorised"
    CAPTURED = "captured"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    REFUNDED = "refunded"


class Action(StrEnum):
    AUTHORISE = "authorise"
    CAPTURE = "capture"
    CANCEL = "cancel"
    DECLINE = "decline"
    REFUND_PART = "refund a part of"
    REFUND_ALL = "refund"


TRANSITIONS: Final[dict[tuple[Status, Action], Status]] = {
    (Status.PENDING, Action.AUTHORISE): Status.AUTHORISED,
    (Status.PENDING, Action.CAPTURE): Status.CAPTURED,
    (Status.PENDING, Action.DECLINE): Status.DECLINED,
    (Status.PENDING, Action.CANCEL): Status.CANCELLED,
    (Status.AUTHORISED, Action.CAPTURE): Status.CAPTURED,
    (Status.AUTHORISED, Action.DECLINE): Status.DECLINED,
    (Status.AUTHORISED, Action.CANCEL): Status.CANCELLED,
    (Status.CAPTURED, Action.REFUND_PART): Status.CAPTURED,
    (Status.CAPTURED, Action.REFUND_ALL): Status.REFUNDED,
}
"""Captured means the money moved. Refunded means that all of it went back."""


class Impossible(Exception):  # it is an answer, not an error of ours
    """What was asked cannot be done to this charge, and nothing has changed."""

    code = "impossible"


class IllegalTransition(Impossible):
    """The table has no such row."""

    code = "illegal_transition"


class CaptureExceedsAuthorisation(Impossible):
    """More was to be captured than had been authorised."""

    code = "capture_exceeds_authorisation"


class RefundExceedsCapture(Impossible):
    """More was to be refunded than is left of what was captured."""

    code = "refund_exceeds_capture"


@value(frozen=True, slots=True)
class Refund:
    """Money that went back."""

    id: str
    charge: str
    amount_minor: int


@value(frozen=True, slots=True)
class Charge:
    """The provider's record of taking money; ``created_s`` is virtual time."""

    id: str
    account: str
    amount_minor: int
    currency: str
    reference: str | None = None
    customer: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_s: float = 0.0
    status: Status = Status.PENDING
    captured_minor: int = 0
    refunded_minor: int = 0
    decline_code: str | None = None

    def after(self, action: Action) -> Status:
        """Return the status that an action leads to, or raise ``IllegalTransition``."""
        try:
            return TRANSITIONS[self.status, action]
        except KeyError:
            raise IllegalTransition(f"cannot {action} a charge that is {self.status}") from None

    def authorise(self) -> "Charge":
        """Reserve the money; none moves."""
        return self._step(self.after(Action.AUTHORISE))

    def capture(self, amount_minor: int | None = None) -> "Charge":
        """Take the money, or the given part of it, which gives up the rest."""
        status = self.after(Action.CAPTURE)
        taken_minor = self.amount_minor if amount_minor is None else amount_minor
        if taken_minor > self.amount_minor:
            raise CaptureExceedsAuthorisation(
                f"{taken_minor} is more than the {self.amount_minor} authorised"
            )
        return self._step(status, captured_minor=taken_minor)

    def decline(self, code: str) -> "Charge":
        """The bank says no, which is final."""
        return self._step(self.after(Action.DECLINE), decline_code=code)

    def cancel(self) -> "Charge":
        """Give it up before any money moves."""
        return self._step(self.after(Action.CANCEL))

    def refund(self, amount_minor: int) -> "Charge":
        """Give back a part of the capture, or all that is left of it."""
        left_minor = self.captured_minor - self.refunded_minor
        part = amount_minor < left_minor
        status = self.after(Action.REFUND_PART if part else Action.REFUND_ALL)
        if amount_minor > left_minor:
            raise RefundExceedsCapture(f"{amount_minor} is more than the {left_minor} left")
        return self._step(status, refunded_minor=self.refunded_minor + amount_minor)

    def _step(
        self,
        status: Status,
        *,
        captured_minor: int | None = None,
        refunded_minor: int | None = None,
        decline_code: str | None = None,
    ) -> "Charge":
        """Return the charge after a step: ``dataclasses.replace``, at a third of its cost."""
        return Charge(
            self.id,
            self.account,
            self.amount_minor,
            self.currency,
            self.reference,
            self.customer,
            self.metadata,
            self.created_s,
            status,
            self.captured_minor if captured_minor is None else captured_minor,
            self.refunded_minor if refunded_minor is None else refunded_minor,
            decline_code,
        )

    def __repr__(self) -> str:
        major, minor = divmod(self.amount_minor, 100)
        return f"<Charge {self.id} {self.status} {major}.{minor:02} {self.currency}>"
