"""The desk in front of the bank: for providers whose API speaks of intents and customers.

Rule 1: one call is one step; it changes everything or nothing.
Rule 2: whatever touches money is the cashier's, and the bank's in the end.
Rule 3: a list is a page of one shelf; what is wanted of it are fields of the things on it.
"""

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.core.bank import Bank, Change
from simulator.core.calls import APPROVED, Decision
from simulator.core.cashier import Cashier, Handled, Visit, merged
from simulator.core.charges import Charge, Impossible
from simulator.core.customers import Customer, Face, Method
from simulator.core.deliveries import Endpoint
from simulator.core.desk_calls import (
    AttachMethod,
    CancelIntent,
    CaptureIntent,
    ConfirmIntent,
    CreateCustomer,
    CreateEndpoint,
    CreateIntent,
    CreateMethod,
    DeleteCustomer,
    DeleteEndpoint,
    DeskCall,
    DetachMethod,
    KnownMethod,
    ListThings,
    OfIntent,
    ReadIntent,
    ReadThing,
    RefundIntentCharge,
    UpdateCustomer,
    UpdateIntent,
)
from simulator.core.desk_results import (
    Fact,
    IntentCharge,
    IntentRefused,
    Newsworthy,
    Notice,
    Thing,
    ThingGone,
    ThingShown,
    ThingsListed,
    WebhookEndpoint,
)
from simulator.core.events import Event
from simulator.core.guises import thing_in_status
from simulator.core.intents import IllegalStep, Intent
from simulator.core.news import News
from simulator.core.results import Problem
from simulator.core.shelf import NoSuchThing
from simulator.core.shelves import Shelves, Unacceptable

if TYPE_CHECKING:
    from collections.abc import Callable


class Desk:
    """Answers what is asked in terms of intents, customers, methods and endpoints."""

    def __init__(self, bank: Bank, news: News, namespace: str = "") -> None:
        self.shelves = Shelves(namespace)
        self._namespace = namespace
        self._news = news
        self._cashier = Cashier(bank, self.shelves)
        self._shelf_of = {
            "intent": self.shelves.intents,
            "charge": self.shelves.charges,
            "refund": self.shelves.refunds,
            "customer": self.shelves.customers,
            "method": self.shelves.methods,
            "endpoint": self.shelves.endpoints,
        }

    def handle(
        self, call: DeskCall, account: str, now: float, decision: Decision = APPROVED
    ) -> Handled:
        """Do what is asked, as far as the bank's ``decision`` lets it."""
        try:
            return self._do(call, Visit(account, now, decision))
        except IllegalStep as reason:
            assert isinstance(call, OfIntent)
            intent = self.shelves.intents.find(call.intent, account)
            view = self.shelves.view(account, public=call.public)
            return Handled(IntentRefused(reason.code, str(reason), intent, view))
        except Unacceptable as reason:
            return Handled(Problem(reason.code, str(reason), field=reason.field))
        except Impossible as reason:
            return Handled(Problem(reason.code, str(reason), field="id"))

    def follow(self, change: Change, now: float) -> tuple[Notice, ...]:
        """Take in what the bank has decided of a charge by itself, and tell the news."""
        return self._cashier.follow(change, now)

    def intent_of(self, charge: Charge) -> str | None:
        """Return the intent that a charge was made for, if it was made for one."""
        made = self.shelves.charges.seek(charge.id, charge.account)
        return None if made is None else made.intent

    def texts_about(self, charge: Charge) -> list[str]:
        """Return what the merchant wrote on a charge and its intent, in metadata and words."""
        texts = list(charge.metadata.values())
        if named := self.intent_of(charge):
            intent = self.shelves.intents.find(named, charge.account)
            texts += intent.metadata.values()
            texts += (text for text in intent.terms.values() if isinstance(text, str))
        return list(dict.fromkeys(texts))

    def portrait(self, charge: Charge, *, of_intent: bool) -> Newsworthy:
        """Return a charge, or its intent, as it would be shown if ``charge`` were true of it.

        One that is not there is made up, and kept nowhere.
        """
        made = self.shelves.charges.seek(charge.id, charge.account)
        if made is None:
            method = Method("pm_forged", charge.account, Face("card"), charge.created_s)
            made = IntentCharge(charge, "pi_forged", method)
        if not of_intent:
            return replace(made, charge=charge)
        intent = self.shelves.intents.seek(made.intent, charge.account) or Intent(
            made.intent,
            charge.account,
            charge.amount_minor,
            charge.currency,
            charge.reference,
            charge.customer,
            capture=True,
            created_s=charge.created_s,
            method=made.method,
            charge=charge.id,
        )
        return thing_in_status(intent, charge.status)

    def order_of(self, call: DeskCall, account: str) -> str | None:
        """Return the merchant's reference that a call carries, or that of what it names."""
        named: Thing | None
        match call:
            case CreateIntent(reference=reference):
                return reference
            case OfIntent(intent=id_):
                named = self.shelves.intents.seek(id_, account)
            case RefundIntentCharge(charge=str(id_)):
                named = self.shelves.charges.seek(id_, account)
            case RefundIntentCharge(intent=str(id_)):
                named = self.shelves.intents.seek(id_, account)
            case ReadThing(kind="charge", id=id_):
                named = self.shelves.charges.seek(id_, account)
            case ReadThing(kind="refund", id=id_):
                named = self.shelves.refunds.seek(id_, account)
            case ReadThing(kind="event", id=id_):
                event = self._news.find(id_, account)
                return event.order if event else None
            case _:
                return None
        return getattr(named, "reference", None)

    def _do(self, call: DeskCall, visit: Visit) -> Handled:  # noqa: C901, PLR0911, PLR0912  # rows
        match call:
            case CreateIntent():
                return self._cashier.create(call, visit)
            case ConfirmIntent():
                return self._cashier.confirm(call, visit)
            case CaptureIntent():
                return self._cashier.capture(call, visit)
            case CancelIntent():
                return self._cashier.cancel(call, visit)
            case UpdateIntent():
                return self._cashier.update(call, visit)
            case ReadIntent():
                return self._cashier.read(call, visit)
            case RefundIntentCharge():
                return self._cashier.refund(call, visit)
            case CreateCustomer():
                return self._create_customer(call, visit)
            case UpdateCustomer():
                return self._update_customer(call, visit)
            case DeleteCustomer():
                return self._delete_customer(call, visit)
            case CreateMethod():
                method = self.shelves.chosen(call.method, visit.account, visit.now)
                return Handled(self._shown(method, call, visit))
            case AttachMethod():
                return self._attach(call, visit)
            case DetachMethod():
                return self._detach(call, visit)
            case CreateEndpoint():
                return self._create_endpoint(call, visit)
            case DeleteEndpoint():
                return self._delete_endpoint(call, visit)
            case ReadThing():
                return Handled(self._read(call, visit))
            case ListThings():
                return Handled(self._list(call, visit))
            case _:
                raise AssertionError(f"nobody at the desk knows {call}")

    # Customers and their methods.

    def _create_customer(self, wish: CreateCustomer, visit: Visit) -> Handled:
        customer = Customer(
            self.shelves.customers.new_id(),
            visit.account,
            visit.now,
            wish.email,
            wish.profile,
            wish.metadata,
        )
        notices: tuple[Notice, ...] = (Notice("customer.created", customer),)
        if wish.method is not None:
            gift = AttachMethod(method=wish.method, customer=customer.id)
            notices += self._give(gift, visit).notices
        self.shelves.customers.put(customer)
        return Handled(self._shown(customer, wish, visit), notices=notices)

    def _update_customer(self, wish: UpdateCustomer, visit: Visit) -> Handled:
        customer = self.shelves.customers.find(wish.customer, visit.account)
        if customer.deleted:
            raise NoSuchThing("customer", customer.id)
        profile = {**customer.profile, **wish.profile}
        customer = replace(
            customer,
            email=profile.pop("email", customer.email),
            profile=profile,
            metadata=merged(customer.metadata, wish.metadata),
        )
        self.shelves.customers.put(customer)
        return Handled(
            self._shown(customer, wish, visit), notices=(Notice("customer.updated", customer),)
        )

    def _delete_customer(self, wish: DeleteCustomer, visit: Visit) -> Handled:
        customer = self.shelves.customers.find(wish.customer, visit.account)
        if customer.deleted:
            raise NoSuchThing("customer", customer.id)
        gone = replace(customer, deleted=True)
        self.shelves.customers.put(gone)
        return Handled(
            ThingGone("customer", gone.id), notices=(Notice("customer.deleted", customer),)
        )

    def _attach(self, wish: AttachMethod, visit: Visit) -> Handled:
        if isinstance(wish.method, KnownMethod):
            self.shelves.methods.find(wish.method.id, visit.account)
        self.shelves.living_customer(wish.customer, visit.account)
        return self._give(wish, visit)

    def _give(self, wish: AttachMethod, visit: Visit) -> Handled:
        method = self.shelves.chosen(wish.method, visit.account, visit.now)
        if not method.face.clings:
            code = method.face.declines or "generic_decline"
            raise Unacceptable("declined", code, "payment_method")
        if method.customer not in (None, wish.customer):
            detail = f"{method.id} belongs to another customer"
            raise Unacceptable("method_taken", detail, "payment_method")
        method = replace(method, customer=wish.customer)
        self.shelves.methods.put(method)
        return Handled(
            self._shown(method, wish, visit), notices=(Notice("method.attached", method),)
        )

    def _detach(self, wish: DetachMethod, visit: Visit) -> Handled:
        method = self.shelves.methods.find(wish.method, visit.account)
        if method.customer is None:
            raise Unacceptable("method_free", f"{method.id} is attached to nobody")
        method = replace(method, customer=None)
        self.shelves.methods.put(method)
        return Handled(
            self._shown(method, wish, visit), notices=(Notice("method.detached", method),)
        )

    # Webhook endpoints.

    def _create_endpoint(self, wish: CreateEndpoint, visit: Visit) -> Handled:
        id_ = self.shelves.endpoints.new_id()
        secret = f"whsec_{hashlib.sha256(f'{visit.account} {id_}'.encode()).hexdigest()[:32]}"
        endpoint = WebhookEndpoint(
            id_,
            visit.account,
            wish.url,
            secret,
            visit.now,
            wish.types,
            wish.description,
            wish.metadata,
        )
        self.shelves.endpoints.put(endpoint)
        self._news.deliveries.add_endpoint(
            Endpoint(wish.url, secret, visit.account, name=id_, types=wish.types)
        )
        return Handled(self._shown(endpoint, wish, visit, fresh=True))

    def _delete_endpoint(self, wish: DeleteEndpoint, visit: Visit) -> Handled:
        endpoint = self.shelves.endpoints.find(wish.endpoint, visit.account)
        self.shelves.endpoints.remove(endpoint.id)
        self._news.deliveries.remove_endpoint(endpoint.url, endpoint.account, endpoint.id)
        return Handled(ThingGone("endpoint", endpoint.id))

    # Showing.

    def _read(self, wish: ReadThing, visit: Visit) -> ThingShown:
        if wish.kind == "event":
            event = self._news.shelf.find(wish.id, visit.account)
            if not self._news.is_shown(event, visit.now):
                raise NoSuchThing("event", event.id)
            return self._shown(self._fact(event), wish, visit)
        shelf: Any = self._shelf_of[wish.kind]
        return self._shown(shelf.find(wish.id, visit.account), wish, visit)

    def _list(self, wish: ListThings, visit: Visit) -> ThingsListed:
        seen: Callable[[Any], Any] = self._fact if wish.kind == "event" else _itself
        shelf: Any = self._news.shelf if wish.kind == "event" else self._shelf_of[wish.kind]

        def wanted(thing: Any) -> bool:
            if wish.kind == "event" and not self._news.is_shown(thing, visit.now):
                return False
            return wish.since_s <= thing.created_s < wish.before_s and all(
                getattr(seen(thing), field) in values for field, values in wish.wanted.items()
            )

        try:
            things, more = shelf.page(visit.account, wish.page, wanted)
        except NoSuchThing as none:
            field = "ending_before" if wish.page.after is None else "starting_after"
            raise Unacceptable("unknown_reference", str(none), field) from None
        view = self.shelves.view(visit.account, wish.expand)
        return ThingsListed(wish.kind, tuple(seen(thing) for thing in things), more, view)

    def _fact(self, event: Event) -> Fact:
        return Fact(event, self._news.deliveries.delivered(event.id))

    def _shown(
        self, thing: Thing | Fact, call: DeskCall, visit: Visit, *, fresh: bool = False
    ) -> ThingShown:
        return ThingShown(thing, self.shelves.view(visit.account, call.expand), fresh)


def _itself(thing: Any) -> Any:
    return thing
