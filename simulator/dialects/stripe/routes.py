"""Which path asks for what: every endpoint is a row.

Rule 1: the operation of a row is what rules, journal and reports call it, in all dialects alike:
        ``charge.create`` is any call that may take money for the first time.
Rule 2: a browser, with its publishable key, may use the rows that say so and no others.
"""

from dataclasses import dataclass
from typing import Final

from simulator.core.desk_calls import (
    ListCustomers,
    ListEndpoints,
    ListFacts,
    ListIntentCharges,
    ListIntents,
    ListMethods,
    ListRefunds,
)
from simulator.dialects.stripe import lists, requests
from simulator.dialects.stripe.asks import Reader
from simulator.dialects.stripe.lists import Lists


@dataclass(frozen=True, slots=True)
class Route:
    """What a path and a method ask for."""

    operation: str
    read: Reader
    public: bool = False


ROUTES: Final[dict[tuple[str, str], Route]] = {
    ("POST", "payment_intents"): Route("intent.create", requests.create_intent),
    ("GET", "payment_intents"): Route("charge.list", Lists(ListIntents)),
    ("GET", "payment_intents/*"): Route("charge.read", requests.read_intent, public=True),
    ("POST", "payment_intents/*"): Route("intent.update", requests.update_intent),
    ("POST", "payment_intents/*/confirm"): Route(
        "charge.create", requests.confirm_intent, public=True
    ),
    ("POST", "payment_intents/*/capture"): Route("charge.capture", requests.capture_intent),
    ("POST", "payment_intents/*/cancel"): Route("charge.cancel", requests.cancel_intent),
    ("GET", "charges"): Route("charge.list", Lists(ListIntentCharges)),
    ("GET", "charges/*"): Route("charge.read", lists.READ_CHARGE),
    ("POST", "refunds"): Route("charge.refund", requests.create_refund),
    ("GET", "refunds"): Route("refund.list", Lists(ListRefunds)),
    ("GET", "refunds/*"): Route("refund.read", lists.READ_REFUND),
    ("POST", "customers"): Route("customer.create", requests.create_customer),
    ("GET", "customers"): Route("customer.list", Lists(ListCustomers)),
    ("GET", "customers/*"): Route("customer.read", lists.READ_CUSTOMER),
    ("POST", "customers/*"): Route("customer.update", requests.update_customer),
    ("DELETE", "customers/*"): Route("customer.delete", requests.delete_customer),
    ("GET", "customers/*/payment_methods"): Route("method.list", Lists(ListMethods, "customer")),
    ("POST", "payment_methods"): Route("method.create", requests.create_method, public=True),
    ("GET", "payment_methods"): Route("method.list", Lists(ListMethods)),
    ("GET", "payment_methods/*"): Route("method.read", lists.READ_METHOD),
    ("POST", "payment_methods/*/attach"): Route("method.attach", requests.attach_method),
    ("POST", "payment_methods/*/detach"): Route("method.detach", requests.detach_method),
    ("GET", "events"): Route("event.list", Lists(ListFacts)),
    ("GET", "events/*"): Route("event.read", lists.READ_EVENT),
    ("POST", "webhook_endpoints"): Route("endpoint.create", requests.create_endpoint),
    ("GET", "webhook_endpoints"): Route("endpoint.list", Lists(ListEndpoints)),
    ("GET", "webhook_endpoints/*"): Route("endpoint.read", lists.READ_ENDPOINT),
    ("DELETE", "webhook_endpoints/*"): Route("endpoint.delete", requests.delete_endpoint),
}


def route_of(method: str, path: str) -> tuple[Route | None, str]:
    """Return the row of a request, if there is one, and the id that its path names."""
    match path.split("/"):
        case ["", "v1", things]:
            return ROUTES.get((method, things)), ""
        case ["", "v1", things, named] if named:
            return ROUTES.get((method, f"{things}/*")), named
        case ["", "v1", things, named, verb] if named:
            return ROUTES.get((method, f"{things}/*/{verb}")), named
        case _:
            return None, ""
