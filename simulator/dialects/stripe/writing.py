"""What a caller of this API would send: the neutral calls, in its words.

Rule 1: a charge is an intent that is created and confirmed at once, by a card that is always good.
Rule 2: the merchant's order is the metadata's first ``ORDER_KEYS``; a customer that this provider
        has not made is only mentioned there, as a field of that name would be refused.
Rule 3: ids of intents (``pi_``) and of charges (``ch_``) both will do where both can be read or
        refunded; only intents can be captured or cancelled.
Rule 4: no list can be asked by order, and there is no call that delivers an event again.
"""

from typing import assert_never

from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    EventParams,
    ListCharges,
    ListEvents,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
)
from simulator.dialects.stripe.requests import ORDER_KEYS

Written = tuple[str, str, dict[str, str]]
"""Method, path and fields."""


def written(params: ChargeParams | EventParams) -> Written | None:  # noqa: PLR0911  # one row each
    """Return the request, if this provider has such a call. What is not said is left out."""
    match params:
        case CreateCharge():
            return "POST", "/v1/payment_intents", _intent(params)
        case CaptureCharge(id_, amount_minor):
            part = _given(amount_to_capture=amount_minor)
            return "POST", f"/v1/payment_intents/{id_}/capture", part
        case CancelCharge(id_):
            return "POST", f"/v1/payment_intents/{id_}/cancel", {}
        case RefundCharge(id_, amount_minor):
            named = {_kind(id_): id_}
            return "POST", "/v1/refunds", named | _given(amount=amount_minor)
        case ReadCharge(id_):
            return "GET", f"/v1/{_kind(id_)}s/{id_}", {}
        case ListCharges():
            return "GET", "/v1/charges", {}
        case ReadEvent(id_):
            return "GET", f"/v1/events/{id_}", {}
        case ListEvents(delivered):
            said = {} if delivered is None else {"delivery_success": _word(delivered)}
            return "GET", "/v1/events", said
        case ResendEvent():
            return None
        case _:
            assert_never(params)


def _intent(wish: CreateCharge) -> dict[str, str]:
    known = wish.customer is not None and wish.customer.startswith("cus_")
    metadata = _given(**{ORDER_KEYS[0]: wish.reference}) | dict(wish.metadata)
    if not known:
        metadata |= _given(customer=wish.customer)
    return {
        "amount": str(wish.amount_minor),
        "currency": wish.currency.lower(),
        "confirm": _word(True),
        "capture_method": "automatic" if wish.capture else "manual",
        "payment_method": "pm_card_visa",
        **(_given(customer=wish.customer) if known else {}),
        **{f"metadata[{name}]": value for name, value in metadata.items()},
    }


def _kind(id_: str) -> str:
    return "payment_intent" if id_.startswith("pi_") else "charge"


def _given(**fields: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value is not None}


def _word(yes: bool) -> str:  # noqa: FBT001  # it is what is written
    return "true" if yes else "false"
