"""A call is one request to the provider, read and named.

Rule 1: what is asked is a tagged value of its own; its ``operation`` is the name that rules,
        journal and reports use.
Rule 2: a dialect reads an ``Operation`` out of a request, or says why it cannot.
Rule 3: a call never changes. What becomes of it is told by the journal.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final

from simulator.core.desk_calls import DeskCall
from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.messages import HttpRequest
    from simulator.core.results import Problem
    from simulator.core.rules import Armed


@value(frozen=True, slots=True)
class Decision:
    """What the bank says when it is asked for money, and after how much virtual time.

    Without a ``decline`` code it approves. Without ``after_s`` it says so at once; with it, the
    charge is pending until then.
    """

    decline: str | None = None
    after_s: float | None = None


APPROVED: Final = Decision()


@value(frozen=True, slots=True)
class CreateCharge:
    """Take money, or reserve it. ``decision`` is what a test token of the dialect stands for."""

    operation: ClassVar[str] = "charge.create"

    amount_minor: int
    currency: str
    reference: str | None = None
    customer: str | None = None
    capture: bool = True
    metadata: Mapping[str, str] = field(default_factory=dict)
    decision: Decision = APPROVED


@value(frozen=True, slots=True)
class CaptureCharge:
    """Take the money that was authorised, or a part of it."""

    operation: ClassVar[str] = "charge.capture"

    charge: str
    amount_minor: int | None = None


@value(frozen=True, slots=True)
class CancelCharge:
    operation: ClassVar[str] = "charge.cancel"

    charge: str


@value(frozen=True, slots=True)
class RefundCharge:
    """Give back a part of the money, or all that is left of it."""

    operation: ClassVar[str] = "charge.refund"

    charge: str
    amount_minor: int | None = None


@value(frozen=True, slots=True)
class ReadCharge:
    operation: ClassVar[str] = "charge.read"

    charge: str


@value(frozen=True, slots=True)
class ListCharges:
    operation: ClassVar[str] = "charge.list"

    reference: str | None = None


@value(frozen=True, slots=True)
class ReadEvent:
    operation: ClassVar[str] = "event.read"

    event: str


@value(frozen=True, slots=True)
class ListEvents:
    operation: ClassVar[str] = "event.list"

    delivered: bool | None = None


@value(frozen=True, slots=True)
class ResendEvent:
    operation: ClassVar[str] = "event.resend"

    event: str


LOOKUPS: Final = frozenset({ReadCharge.operation, ListCharges.operation})
"""The operations by which a caller finds out what happened to its charges."""

ChargeParams = CreateCharge | CaptureCharge | CancelCharge | RefundCharge | ReadCharge | ListCharges
EventParams = ReadEvent | ListEvents | ResendEvent
Params = ChargeParams | EventParams | DeskCall


@value(frozen=True, slots=True)
class Operation:
    """What a request asks for, on whose account, under which key.

    When the key is used again, the ``params`` must be equal. A dialect whose requests say more
    than its params do gives a ``fingerprint``: a digest of all that must be equal instead.
    """

    params: Params
    account: str
    key: str | None
    fingerprint: str | None = None


@value(frozen=True, slots=True)
class Unreadable:
    """A request that asks for nothing we know, or asks for it badly.

    ``operation`` is what was meant, where that could be told.
    """

    problem: "Problem"
    operation: str = "unknown"
    account: str | None = None
    key: str | None = None


@value(frozen=True, slots=True)
class Call:
    """One request to the provider, from its arrival on.

    ``order`` is the merchant's reference, its own or that of the charge it names. ``cause`` is
    the index of its ``receive`` record. ``faults`` are those which it asked for itself.
    """

    id: str
    operation: str
    account: str
    key: str | None
    order: str | None
    params: Params
    fingerprint: str | None
    request: "HttpRequest"
    cause: int
    faults: "tuple[Armed, ...]" = ()

    @property
    def asked(self) -> object:
        """What must be equal when the key is used again."""
        return self.params if self.fingerprint is None else self.fingerprint

    def __repr__(self) -> str:
        return f"<Call {self.id} {self.operation} {self.order or '-'}>"
