"""What may be asked of the desk: intents, customers, payment methods, webhook endpoints, lists.

Rule 1: an operation that means what one of ``calls.py`` means has its name, so that one scenario
        strikes every dialect: ``charge.create`` is whatever may move money for the first time.
Rule 2: ``expand`` names what the caller wants to see in full; only the dialect understands it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from simulator.core.customers import Face
from simulator.core.shelf import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskCall:
    """Anything that is asked of the desk."""

    operation: ClassVar[str] = "unknown"

    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownMethod:
    """A payment method that the account already has."""

    id: str


@dataclass(frozen=True, slots=True)
class NewMethod:
    """A payment method that comes into being with the call that names it."""

    face: Face
    billing: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


MethodChoice = KnownMethod | NewMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIntent(DeskCall):
    operation: ClassVar[str] = "intent.create"

    amount_minor: int
    currency: str
    reference: str | None = None
    customer: str | None = None
    capture: bool = True
    method: MethodChoice | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAndConfirmIntent(CreateIntent):
    """Create an intent and charge for it at once."""

    operation: ClassVar[str] = "charge.create"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfIntent(DeskCall):
    """Anything that is done to one intent.

    ``public`` is a caller without a secret key, a browser; it shows the intent's ``secret``.
    """

    intent: str
    secret: str | None = None
    public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmIntent(OfIntent):
    """Charge for an intent, by the method it has or by this one."""

    operation: ClassVar[str] = "charge.create"

    method: MethodChoice | None = None
    capture: bool | None = None
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateIntent(OfIntent):
    """Change what an intent says. An empty metadata value takes the key away."""

    operation: ClassVar[str] = "intent.update"

    amount_minor: int | None = None
    currency: str | None = None
    reference: str | None = None
    customer: str | None = None
    capture: bool | None = None
    method: MethodChoice | None = None
    metadata: Mapping[str, str] | None = field(default_factory=dict)
    terms: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureIntent(OfIntent):
    operation: ClassVar[str] = "charge.capture"

    amount_minor: int | None = None
    metadata: Mapping[str, str] | None = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelIntent(OfIntent):
    operation: ClassVar[str] = "charge.cancel"

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadIntent(OfIntent):
    operation: ClassVar[str] = "charge.read"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundIntentCharge(DeskCall):
    """Give money back, of a charge or of the latest charge of an intent."""

    operation: ClassVar[str] = "charge.refund"

    charge: str | None = None
    intent: str | None = None
    amount_minor: int | None = None
    reason: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCustomer(DeskCall):
    operation: ClassVar[str] = "customer.create"

    email: str | None = None
    method: MethodChoice | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateCustomer(DeskCall):
    """Change a customer. Only what ``profile`` names changes; ``email`` may be among it."""

    operation: ClassVar[str] = "customer.update"

    customer: str
    metadata: Mapping[str, str] | None = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCustomer(DeskCall):
    operation: ClassVar[str] = "customer.delete"

    customer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateMethod(DeskCall):
    operation: ClassVar[str] = "method.create"

    method: NewMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachMethod(DeskCall):
    """Give a customer a payment method."""

    operation: ClassVar[str] = "method.attach"

    method: MethodChoice
    customer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachMethod(DeskCall):
    """Take a payment method from its customer."""

    operation: ClassVar[str] = "method.detach"

    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateEndpoint(DeskCall):
    """Tell a URL of the events of this account, or of those types only."""

    operation: ClassVar[str] = "endpoint.create"

    url: str
    types: tuple[str, ...] = ()
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEndpoint(DeskCall):
    operation: ClassVar[str] = "endpoint.delete"

    endpoint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThing(DeskCall):
    """Show one thing of a kind."""

    kind: ClassVar[str] = ""

    id: str


class ReadIntentCharge(ReadThing):
    """Show a charge, and what it was made for."""

    __slots__ = ()
    operation, kind = "charge.read", "charge"


class ReadRefund(ReadThing):
    __slots__ = ()
    operation, kind = "refund.read", "refund"


class ReadCustomer(ReadThing):
    __slots__ = ()
    operation, kind = "customer.read", "customer"


class ReadMethod(ReadThing):
    __slots__ = ()
    operation, kind = "method.read", "method"


class ReadEndpoint(ReadThing):
    __slots__ = ()
    operation, kind = "endpoint.read", "endpoint"


class ReadFact(ReadThing):
    """Show an event, and whether it was delivered."""

    __slots__ = ()
    operation, kind = "event.read", "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListThings(DeskCall):
    """Show a page of one kind: those whose fields have one of the wanted values.

    ``since_s`` and ``before_s`` bound when they were made, in virtual time.
    """

    kind: ClassVar[str] = ""

    page: Page = field(default_factory=Page)
    wanted: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    since_s: float = float("-inf")
    before_s: float = float("inf")


class ListIntents(ListThings):
    __slots__ = ()
    operation, kind = "charge.list", "intent"


class ListIntentCharges(ListThings):
    __slots__ = ()
    operation, kind = "charge.list", "charge"


class ListRefunds(ListThings):
    __slots__ = ()
    operation, kind = "refund.list", "refund"


class ListCustomers(ListThings):
    __slots__ = ()
    operation, kind = "customer.list", "customer"


class ListMethods(ListThings):
    __slots__ = ()
    operation, kind = "method.list", "method"


class ListEndpoints(ListThings):
    __slots__ = ()
    operation, kind = "endpoint.list", "endpoint"


class ListFacts(ListThings):
    __slots__ = ()
    operation, kind = "event.list", "event"


DESK_CALLS: Final[tuple[type[DeskCall], ...]] = (
    CreateIntent,
    CreateAndConfirmIntent,
    ConfirmIntent,
    UpdateIntent,
    CaptureIntent,
    CancelIntent,
    ReadIntent,
    RefundIntentCharge,
    CreateCustomer,
    UpdateCustomer,
    DeleteCustomer,
    CreateMethod,
    AttachMethod,
    DetachMethod,
    CreateEndpoint,
    DeleteEndpoint,
    ReadIntentCharge,
    ReadRefund,
    ReadCustomer,
    ReadMethod,
    ReadEndpoint,
    ReadFact,
    ListIntents,
    ListIntentCharges,
    ListRefunds,
    ListCustomers,
    ListMethods,
    ListEndpoints,
    ListFacts,
)
"""Every kind of call to the desk."""
