"""What the desk shows: the things it keeps, and what a call to it came to.

Rule 1: a result carries all that a dialect may want to show of it, related things by ``find``.
Rule 2: a thing is a value: what an event carries is how it was at that moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from simulator.core.charges import Charge, Refund
from simulator.core.customers import Customer, Method
from simulator.core.intents import Intent
from simulator.core.invoices import Invoice
from simulator.core.values import value

if TYPE_CHECKING:
    from simulator.core.bank import Change
    from simulator.core.events import Event


@value(frozen=True, slots=True)
class IntentCharge:
    """A charge, the intent it was made for, and what was charged."""

    charge: Charge
    intent: str
    method: Method
    terms: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.charge.id

    @property
    def account(self) -> str:
        return self.charge.account

    @property
    def customer(self) -> str | None:
        return self.charge.customer

    @property
    def reference(self) -> str | None:
        return self.charge.reference

    @property
    def created_s(self) -> float:
        return self.charge.created_s


@value(frozen=True, slots=True)
class IntentRefund:
    """A refund, and what the merchant said about it."""

    refund: Refund
    of: IntentCharge
    created_s: float
    reason: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.refund.id

    @property
    def account(self) -> str:
        return self.of.account

    @property
    def reference(self) -> str | None:
        return self.of.reference

    @property
    def charge(self) -> str:
        return self.of.id

    @property
    def intent(self) -> str:
        return self.of.intent


@value(frozen=True, slots=True)
class WebhookEndpoint:
    """An endpoint that an account has registered itself. No types means all of them."""

    id: str
    account: str
    url: str
    secret: str
    created_s: float
    types: tuple[str, ...] = ()
    description: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


Thing = Intent | IntentCharge | IntentRefund | Customer | Method | WebhookEndpoint
Newsworthy = Intent | IntentCharge | IntentRefund | Customer | Method | Invoice
Find = Callable[[str], Thing | None]


@value(frozen=True, slots=True)
class Notice:
    """Something to tell the endpoints: a neutral name, and the thing as it now is.

    ``change`` is what the bank did, where that is the news.
    """

    name: str
    about: Newsworthy
    change: "Change | None" = None


@value(frozen=True, slots=True)
class Fact:
    """An event, and whether all who should know of it do."""

    event: "Event"
    delivered: bool

    @property
    def type(self) -> str:
        return self.event.type


@value(frozen=True, slots=True)
class View:
    """How much a caller gets to see. ``public`` is a browser, which has no secret key."""

    find: Find
    expand: tuple[str, ...] = ()
    public: bool = False


@value(frozen=True, slots=True)
class ThingShown:
    """A thing as it now is. ``fresh``: this call has made it."""

    thing: Thing | Fact
    view: View
    fresh: bool = False


@value(frozen=True, slots=True)
class ThingsListed:
    """A page of things of one kind; ``more`` lie beyond it."""

    kind: str
    things: tuple[Thing | Fact, ...]
    more: bool
    view: View


@value(frozen=True, slots=True)
class ThingGone:
    """It was deleted."""

    kind: str
    id: str


@value(frozen=True, slots=True)
class IntentDeclined:
    """The bank said no; the intent waits for something better."""

    intent: Intent
    view: View


@value(frozen=True, slots=True)
class IntentRefused:
    """The intent is not in a state that allows this."""

    code: str
    detail: str
    intent: Intent
    view: View


DeskResult = ThingShown | ThingsListed | ThingGone | IntentDeclined | IntentRefused
