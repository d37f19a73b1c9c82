"""The things of the API as JSON: a template for each kind, and what is filled in.

Rule 1: every field the SDKs' types promise is there; what we know nothing of is null.
Rule 2: ids stand for things until somebody asks to ``expand`` them.
"""

from typing import assert_never

from simulator.core.charges import Status
from simulator.core.customers import Customer, Method
from simulator.core.desk_results import (
    Fact,
    IntentCharge,
    IntentRefund,
    Thing,
    View,
    WebhookEndpoint,
)
from simulator.core.events import Event
from simulator.core.intents import Failure, Intent, IntentStatus
from simulator.core.invoices import Invoice
from simulator.dialects.stripe.clock import instant
from simulator.dialects.stripe.declines import decline_of
from simulator.dialects.stripe.templates import (
    API_VERSION,
    BILLING,
    CHARGE,
    CHARGE_STATUS,
    CUSTOMER,
    INTENT,
    LIST_URLS,
    OBJECTS,
    PUBLIC_FIELDS,
    Json,
)


def shown(thing: Thing | Fact, view: View) -> Json:
    """Return a thing as a caller may see it, with what it wants expanded."""
    whole = plain(thing)
    for path in view.expand:
        _expand(whole, path.split("."), view)
    if view.public and isinstance(thing, Intent):
        return {name: whole[name] for name in PUBLIC_FIELDS if name in whole}
    return whole


def listed(kind: str, things: tuple[Thing | Fact, ...], view: View, *, more: bool) -> Json:
    """Return a page of things; paths to expand begin with ``data``."""
    inner = tuple(path.partition(".")[2] for path in view.expand if path.startswith("data."))
    each = View(view.find, inner, view.public)
    return {
        "object": "list",
        "url": LIST_URLS[kind],
        "has_more": more,
        "data": [shown(thing, each) for thing in things],
    }


def plain(thing: Thing | Fact) -> Json:  # noqa: PLR0911  # one row for each kind
    """Return a thing with nothing expanded."""
    match thing:
        case Intent():
            return _intent(thing)
        case IntentCharge():
            return _charge(thing)
        case IntentRefund():
            return _refund(thing)
        case Customer():
            return _customer(thing)
        case Method():
            return _method(thing)
        case WebhookEndpoint():
            return _endpoint(thing)
        case Fact(event, delivered):
            return event_object(event, pending=0 if delivered else 1)
        case _:
            assert_never(thing)


def event_object(event: Event, *, pending: int) -> Json:
    """Return an event, with the thing as it was when the event was born."""
    assert event.thing is not None  # a desk has told it
    assert not isinstance(event.thing, Invoice)  # this provider does not bill
    request = event.call and request_id(event.call)
    connected = {"account": event.account} if event.account.startswith("acct_") else {}
    return {
        "id": event.id,
        "object": "event",
        **connected,
        "api_version": API_VERSION,
        "created": instant(event.created_s),
        "data": {"object": plain(event.thing)},
        "livemode": False,
        "pending_webhooks": pending,
        "request": {"id": request, "idempotency_key": event.key},
        "type": event.type,
    }


def request_id(call: str) -> str:
    """Return the id by which this provider knows a call."""
    return f"req_{call.removeprefix('call-')}"


def _intent(intent: Intent) -> Json:
    held = intent.status is IntentStatus.REQUIRES_CAPTURE
    cancelled_s = intent.cancelled_s
    terms = dict(intent.terms)
    return {
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount_minor,
        "amount_capturable": intent.amount_minor if held else 0,
        "amount_details": {"tip": {}},
        "amount_received": intent.captured_minor,
        **INTENT,
        **terms,
        "canceled_at": None if cancelled_s is None else instant(cancelled_s),
        "cancellation_reason": intent.cancelled_because,
        "client_secret": intent.client_secret,
        "created": instant(intent.created_s),
        "currency": intent.currency.lower(),
        "customer": intent.customer,
        "last_payment_error": intent.failure and failure_object(intent.failure),
        "latest_charge": intent.charge,
        "metadata": dict(intent.metadata),
        "payment_method": intent.method and intent.method.id,
        "status": intent.status.value,
    }


def failure_object(failure: Failure) -> Json:
    """Return why a charge failed, as errors and intents tell it."""
    told = decline_of(failure.code)
    return {
        **told.error(failure.method.kind),
        "charge": failure.charge,
        "payment_method": _method(failure.method),
    }


def _charge(made: IntentCharge) -> Json:
    charge, method = made.charge, made.method
    decline = charge.decline_code and decline_of(charge.decline_code)
    paid = charge.status not in (Status.PENDING, Status.DECLINED)
    return {
        "id": charge.id,
        "object": "charge",
        "amount": charge.amount_minor,
        "amount_captured": charge.captured_minor,
        "amount_refunded": charge.refunded_minor,
        **CHARGE,
        **{name: made.terms[name] for name in CHARGE if name in made.terms},
        "billing_details": {**BILLING, **method.billing},
        "captured": charge.captured_minor > 0,
        "created": instant(charge.created_s),
        "currency": charge.currency.lower(),
        "customer": charge.customer,
        "failure_code": decline.code if decline else None,
        "failure_message": decline.message if decline else None,
        "metadata": dict(charge.metadata),
        "outcome": {
            "network_decline_code": None,
            "network_status": "declined_by_network" if decline else "approved_by_network",
            "reason": decline.reason if decline else None,
            "risk_level": "normal",
            "seller_message": decline.message if decline else "Payment complete.",
            "type": "issuer_declined" if decline else "authorized",
        },
        "paid": paid,
        "payment_intent": made.intent,
        "payment_method": method.id,
        "payment_method_details": {"type": method.kind, method.kind: dict(method.face.looks)},
        "refunded": charge.status is Status.REFUNDED,
        "source": None,
        "status": CHARGE_STATUS[charge.status],
    }


def _refund(made: IntentRefund) -> Json:
    charge = made.of.charge
    return {
        "id": made.id,
        "object": "refund",
        "amount": made.refund.amount_minor,
        "balance_transaction": None,
        "charge": made.charge,
        "created": instant(made.created_s),
        "currency": charge.currency.lower(),
        "destination_details": {
            "card": {
                "reference": "",
                "reference_status": "pending",
                "reference_type": "acquirer_reference_number",
                "type": "refund",
            },
            "type": "card",
        },
        "metadata": dict(made.metadata),
        "payment_intent": made.intent,
        "reason": made.reason,
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
    }


def _customer(customer: Customer) -> Json:
    if customer.deleted:
        return gone("customer", customer.id)
    settings = customer.profile.get("invoice_settings") or {}
    return {
        "id": customer.id,
        "object": "customer",
        **CUSTOMER,
        **customer.profile,
        "created": instant(customer.created_s),
        "email": customer.email,
        "invoice_settings": {**CUSTOMER["invoice_settings"], **settings},
        "metadata": dict(customer.metadata),
    }


def _method(method: Method) -> Json:
    return {
        "id": method.id,
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": {**BILLING, **method.billing},
        method.kind: dict(method.face.looks),
        "created": instant(method.created_s),
        "customer": method.customer,
        "livemode": False,
        "metadata": dict(method.metadata),
        "type": method.kind,
    }


def _endpoint(endpoint: WebhookEndpoint) -> Json:
    return {
        "id": endpoint.id,
        "object": "webhook_endpoint",
        "api_version": None,
        "application": None,
        "created": instant(endpoint.created_s),
        "description": endpoint.description,
        "enabled_events": list(endpoint.types) or ["*"],
        "livemode": False,
        "metadata": dict(endpoint.metadata),
        "status": "enabled",
        "url": endpoint.url,
    }


def gone(kind: str, id_: str) -> Json:
    """Return what is left of a deleted thing."""
    return {"id": id_, "object": OBJECTS[kind], "deleted": True}


def _expand(whole: Json, path: list[str], view: View) -> None:
    """Put a thing in the place of its id, and go on inside it."""
    field, *rest = path
    inner = whole.get(field)
    if isinstance(inner, str):
        thing = view.find(inner)
        if thing is None:
            return
        inner = whole[field] = plain(thing)
    if rest and isinstance(inner, dict):
        _expand(inner, rest, view)
