"""Everything that an account has at the provider, besides money.

Rule 1: what a call names and the account does not have makes the call unacceptable, and the
        error says which field named it.
"""

from typing import TYPE_CHECKING

from simulator.core.charges import Impossible
from simulator.core.customers import Customer, Method
from simulator.core.desk_calls import KnownMethod, MethodChoice
from simulator.core.desk_results import (
    IntentCharge,
    IntentRefund,
    Thing,
    View,
    WebhookEndpoint,
)
from simulator.core.shelf import NoSuchThing, Shelf, ThingT

if TYPE_CHECKING:
    from simulator.core.intents import Intent


class Unacceptable(Impossible):
    """What a field of the call says cannot be."""

    def __init__(self, code: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.field = field


class Shelves:
    """One shelf for each kind of thing."""

    def __init__(self, namespace: str = "") -> None:
        self.intents: Shelf[Intent] = Shelf("payment_intent", "pi", namespace)
        self.charges: Shelf[IntentCharge] = Shelf("charge", "ch", namespace)
        self.refunds: Shelf[IntentRefund] = Shelf("refund", "re", namespace)
        self.customers: Shelf[Customer] = Shelf("customer", "cus", namespace)
        self.methods: Shelf[Method] = Shelf("payment_method", "pm", namespace)
        self.endpoints: Shelf[WebhookEndpoint] = Shelf("webhook_endpoint", "we", namespace)

    def view(self, account: str, expand: tuple[str, ...] = (), *, public: bool = False) -> View:
        """Return what an account may see."""

        def find(id_: str) -> Thing | None:
            for seek in (self.charges.seek, self.intents.seek, self.methods.seek):
                if (thing := seek(id_, account)) is not None:
                    return thing
            return self.customers.seek(id_, account)

        return View(find, expand, public)

    def named(self, shelf: Shelf[ThingT], id_: str, account: str, field: str) -> ThingT:
        """Return what a field of a call names, or raise ``Unacceptable``."""
        try:
            return shelf.find(id_, account)
        except NoSuchThing as none:
            raise Unacceptable("unknown_reference", str(none), field) from None

    def living_customer(self, id_: str, account: str) -> Customer:
        """Return the customer that the field ``customer`` names, if it was not deleted."""
        customer = self.named(self.customers, id_, account, "customer")
        if customer.deleted:
            raise Unacceptable("unknown_reference", f"no such customer: {id_!r}", "customer")
        return customer

    def chosen(self, choice: MethodChoice, account: str, now: float) -> Method:
        """Return the method a call has chosen; a new one is put on its shelf."""
        if isinstance(choice, KnownMethod):
            return self.named(self.methods, choice.id, account, "payment_method")
        method = Method(
            self.methods.new_id(),
            account,
            choice.face,
            now,
            metadata=choice.metadata,
            billing=choice.billing,
        )
        self.methods.put(method)
        return method
