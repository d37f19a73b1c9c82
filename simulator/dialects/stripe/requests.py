"""What each endpoint takes, as tables, and what it then asks of the desk.

Rule 1: an endpoint's parameters are a schema; one that is not in it is refused.
Rule 2: parameters that change nothing here are still read: stored with the intent if the API
        repeats them, dropped if it does not.
Rule 3: the merchant's order is one of ``ORDER_KEYS`` in the metadata.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from simulator.core.desk_calls import (
    AttachMethod,
    CancelIntent,
    CaptureIntent,
    ConfirmIntent,
    CreateAndConfirmIntent,
    CreateCustomer,
    CreateEndpoint,
    CreateIntent,
    CreateMethod,
    DeleteCustomer,
    DeleteEndpoint,
    DeskCall,
    DetachMethod,
    ReadIntent,
    RefundIntentCharge,
    UpdateCustomer,
    UpdateIntent,
)
from simulator.dialects.stripe.asks import Ask
from simulator.dialects.stripe.fields import (
    Invalid,
    Schema,
    amount,
    anything,
    currency,
    flag,
    hash_of,
    large_enough,
    list_of,
    loose_hash,
    metadata,
    one_of,
    read,
    text,
    words,
)
from simulator.dialects.stripe.methods import METHOD_DATA, chosen, named, new_method

ORDER_KEYS: Final = ("order_id", "order", "reference")

EXPAND: Final[Schema] = {"expand": list_of(text)}

_TERMS: Final[Schema] = {  # said once, repeated by the API for ever
    "application_fee_amount": amount,
    "automatic_payment_methods": hash_of(
        {"enabled": flag, "allow_redirects": one_of("always", "never")}
    ),
    "capture_method": one_of("automatic", "automatic_async", "manual"),
    "confirmation_method": one_of("automatic", "manual"),
    "description": words,
    "on_behalf_of": text,
    "payment_method_options": loose_hash,
    "payment_method_types": list_of(text),
    "receipt_email": words,
    "setup_future_usage": one_of("", "off_session", "on_session"),
    "shipping": loose_hash,
    "statement_descriptor": text,
    "statement_descriptor_suffix": text,
    "transfer_data": loose_hash,
    "transfer_group": text,
}
_UNHEARD: Final[Schema] = {  # taken, and of no consequence where nobody has to approve anything
    "amount_details": anything,
    "error_on_requires_action": flag,
    "excluded_payment_method_types": anything,
    "hooks": anything,
    "mandate": text,
    "mandate_data": anything,
    "off_session": anything,
    "payment_details": anything,
    "payment_method_configuration": text,
    "radar_options": anything,
    "return_url": text,
    "use_stripe_sdk": flag,
}
_METHOD: Final[Schema] = {"payment_method": text, "payment_method_data": hash_of(METHOD_DATA)}
_SECRET: Final[Schema] = {"client_secret": text}

CREATE_INTENT: Final[Schema] = {
    **EXPAND, **_TERMS, **_UNHEARD, **_METHOD,
    "amount": amount, "confirm": flag, "currency": currency, "customer": text,
    "metadata": metadata,
}  # fmt: skip
UPDATE_INTENT: Final[Schema] = {
    **EXPAND, **_TERMS, **_UNHEARD, **_METHOD, **_SECRET,
    "amount": amount, "currency": currency, "customer": text, "metadata": metadata,
}  # fmt: skip
CONFIRM_INTENT: Final[Schema] = {
    **EXPAND, **_UNHEARD, **_METHOD, **_SECRET,
    **{
        name: _TERMS[name]
        for name in (
            "capture_method", "payment_method_options", "payment_method_types", "receipt_email",
            "setup_future_usage", "shipping",
        )
    },
}  # fmt: skip
CAPTURE_INTENT: Final[Schema] = {
    **EXPAND,
    "amount_to_capture": amount,
    "application_fee_amount": amount,
    "final_capture": flag,
    "metadata": metadata,
    "statement_descriptor": text,
    "statement_descriptor_suffix": text,
    "transfer_data": anything,
}
CANCEL_INTENT: Final[Schema] = {
    **EXPAND,
    "cancellation_reason": one_of("abandoned", "duplicate", "fraudulent", "requested_by_customer"),
}
READ_INTENT: Final[Schema] = {**EXPAND, **_SECRET}
CREATE_REFUND: Final[Schema] = {
    **EXPAND,
    "amount": amount,
    "charge": text,
    "instructions_email": text,
    "metadata": metadata,
    "payment_intent": text,
    "reason": one_of("duplicate", "fraudulent", "requested_by_customer"),
    "refund_application_fee": flag,
    "reverse_transfer": flag,
}
_PROFILE: Final[Schema] = {
    "address": loose_hash,
    "description": words,
    "email": words,
    "invoice_prefix": text,
    "invoice_settings": loose_hash,
    "name": words,
    "phone": words,
    "preferred_locales": list_of(text),
    "shipping": loose_hash,
    "tax_exempt": one_of("", "none", "exempt", "reverse"),
}
UPDATE_CUSTOMER: Final[Schema] = {**EXPAND, **_PROFILE, "metadata": metadata}
CREATE_CUSTOMER: Final[Schema] = {**UPDATE_CUSTOMER, "payment_method": text}
CREATE_METHOD: Final[Schema] = {**EXPAND, **METHOD_DATA}
ATTACH_METHOD: Final[Schema] = {**EXPAND, "customer": text}
CREATE_ENDPOINT: Final[Schema] = {
    **EXPAND,
    "api_version": text,
    "connect": flag,
    "description": words,
    "enabled_events": list_of(text),
    "metadata": metadata,
    "url": text,
}


def create_intent(ask: Ask) -> DeskCall:
    """Open an intent; with ``confirm``, charge for it in the same call."""
    said = read(ask.fields, CREATE_INTENT, ("amount", "currency"))
    wish = CreateAndConfirmIntent if said.get("confirm") else CreateIntent
    metadata_said = said.get("metadata") or {}
    return wish(
        amount_minor=large_enough(said["amount"], said["currency"]),
        currency=said["currency"],
        reference=order_in(metadata_said),
        customer=said.get("customer"),
        capture=said.get("capture_method") != "manual",
        method=chosen(said),
        metadata={name: value for name, value in metadata_said.items() if value},
        terms=_terms(said),
        expand=_expand(said),
    )


def confirm_intent(ask: Ask) -> DeskCall:
    """Charge for an intent, for a server or, with the client secret, for a browser."""
    said = read(ask.fields, CONFIRM_INTENT, ("client_secret",) if ask.public else ())
    method = said.get("capture_method")
    return ConfirmIntent(
        intent=ask.named,
        secret=said.get("client_secret"),
        public=ask.public,
        method=chosen(said),
        capture=None if method is None else method != "manual",
        terms=_terms(said),
        expand=_expand(said),
    )


def update_intent(ask: Ask) -> DeskCall:
    """Change what an intent says."""
    said = read(ask.fields, UPDATE_INTENT)
    capture_method = said.get("capture_method")
    return UpdateIntent(
        intent=ask.named,
        secret=said.get("client_secret"),
        amount_minor=said.get("amount"),
        currency=said.get("currency"),
        reference=order_in(said.get("metadata") or {}),
        customer=said.get("customer"),
        capture=None if capture_method is None else capture_method != "manual",
        method=chosen(said),
        metadata=said.get("metadata", {}),
        terms=_terms(said),
        expand=_expand(said),
    )


def capture_intent(ask: Ask) -> DeskCall:
    """Take the money that is on hold, or a part of it."""
    said = read(ask.fields, CAPTURE_INTENT)
    return CaptureIntent(
        intent=ask.named,
        amount_minor=said.get("amount_to_capture"),
        metadata=said.get("metadata", {}),
        expand=_expand(said),
    )


def cancel_intent(ask: Ask) -> DeskCall:
    """Give an intent up."""
    said = read(ask.fields, CANCEL_INTENT)
    return CancelIntent(
        intent=ask.named, reason=said.get("cancellation_reason"), expand=_expand(said)
    )


def read_intent(ask: Ask) -> DeskCall:
    """Show an intent, to a server or, with the client secret, to a browser."""
    said = read(ask.fields, READ_INTENT, ("client_secret",) if ask.public else ())
    return ReadIntent(
        intent=ask.named, secret=said.get("client_secret"), public=ask.public, expand=_expand(said)
    )


def create_refund(ask: Ask) -> DeskCall:
    """Give money back, of a charge or of an intent."""
    said = read(ask.fields, CREATE_REFUND)
    if "charge" not in said and "payment_intent" not in said:
        raise Invalid("parameter_missing", "a charge or a payment_intent is needed", "charge")
    return RefundIntentCharge(
        charge=said.get("charge"),
        intent=said.get("payment_intent"),
        amount_minor=said.get("amount"),
        reason=said.get("reason"),
        metadata=said.get("metadata") or {},
        expand=_expand(said),
    )


def create_customer(ask: Ask) -> DeskCall:
    """Make a customer, who may have a payment method from the beginning."""
    said = read(ask.fields, CREATE_CUSTOMER)
    return CreateCustomer(
        email=said.get("email"),
        method=chosen(said),
        metadata=said.get("metadata") or {},
        profile={name: said[name] for name in _PROFILE if name in said and name != "email"},
        expand=_expand(said),
    )


def update_customer(ask: Ask) -> DeskCall:
    """Change a customer."""
    said = read(ask.fields, UPDATE_CUSTOMER)
    return UpdateCustomer(
        customer=ask.named,
        metadata=said.get("metadata", {}),
        profile={name: said[name] for name in _PROFILE if name in said},
        expand=_expand(said),
    )


def delete_customer(ask: Ask) -> DeskCall:
    """Delete a customer; it can still be read, and says that it is gone."""
    read(ask.fields, {})
    return DeleteCustomer(customer=ask.named)


def create_method(ask: Ask) -> DeskCall:
    """Make a payment method, as a browser does before it confirms."""
    said = read(ask.fields, CREATE_METHOD)
    return CreateMethod(method=new_method(said), expand=_expand(said))


def attach_method(ask: Ask) -> DeskCall:
    """Give a payment method to a customer."""
    said = read(ask.fields, ATTACH_METHOD, ("customer",))
    return AttachMethod(method=named(ask.named), customer=said["customer"], expand=_expand(said))


def detach_method(ask: Ask) -> DeskCall:
    """Take a payment method from its customer."""
    return DetachMethod(method=ask.named, expand=_expand(read(ask.fields, EXPAND)))


def create_endpoint(ask: Ask) -> DeskCall:
    """Register a URL that hears of events; ``*`` means all types."""
    said = read(ask.fields, CREATE_ENDPOINT, ("enabled_events", "url"))
    if re.fullmatch(r"https?://[^\s/]+[^\s]*", said["url"]) is None:
        raise Invalid("url_invalid", "url must be an http or https URL", "url")
    types = said["enabled_events"]
    return CreateEndpoint(
        url=said["url"],
        types=() if "*" in types else types,
        description=said.get("description"),
        metadata=said.get("metadata") or {},
        expand=_expand(said),
    )


def delete_endpoint(ask: Ask) -> DeskCall:
    """Take a webhook endpoint away; what is still due to it is never sent."""
    read(ask.fields, {})
    return DeleteEndpoint(endpoint=ask.named)


def order_in(metadata_said: Mapping[str, str]) -> str | None:
    """Return the merchant's order, if the metadata tell it under a name that we know."""
    for key in ORDER_KEYS:
        order = metadata_said.get(key, "")
        if order and order.isprintable() and len(order) <= 255:
            return order
    return None


def _terms(said: dict[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in _TERMS if name in said}


def _expand(said: dict[str, Any]) -> tuple[str, ...]:
    expand: tuple[str, ...] = said.get("expand", ())
    return expand
