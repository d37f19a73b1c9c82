"""What a caller of this API would send: the neutral calls, in its words."""

from typing import Any, assert_never

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

Fields = dict[str, Any]


def written(params: ChargeParams | EventParams) -> tuple[str, str, Fields]:  # noqa: PLR0911
    """Return method, path and fields of a request. What is not said is left out."""
    match params:
        case CreateCharge(amount_minor, currency, reference, customer, capture, metadata):
            given = {"reference": reference, "customer": customer}
            fields: Fields = {name: value for name, value in given.items() if value is not None}
            fields |= {"amount_minor": amount_minor, "currency": currency, "capture": capture}
            return "POST", "/v1/charges", fields | {"metadata": dict(metadata)}
        case CaptureCharge(charge, amount_minor):
            return "POST", f"/v1/charges/{charge}/capture", _part(amount_minor)
        case CancelCharge(charge):
            return "POST", f"/v1/charges/{charge}/cancel", {}
        case RefundCharge(charge, amount_minor):
            return "POST", f"/v1/charges/{charge}/refunds", _part(amount_minor)
        case ReadCharge(charge):
            return "GET", f"/v1/charges/{charge}", {}
        case ListCharges(reference):
            return "GET", "/v1/charges", {} if reference is None else {"reference": reference}
        case ReadEvent(event):
            return "GET", f"/v1/events/{event}", {}
        case ListEvents(delivered):
            said = {} if delivered is None else {"delivered": "true" if delivered else "false"}
            return "GET", "/v1/events", said
        case ResendEvent(event):
            return "POST", f"/v1/events/{event}/resend", {}
        case _:
            assert_never(params)


def _part(amount_minor: int | None) -> Fields:
    return {} if amount_minor is None else {"amount_minor": amount_minor}
