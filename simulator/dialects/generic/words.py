"""Everything this API says, as JSON.

Rule 1: every refusal is a problem document (RFC 9457), its status a row of ``PROBLEMS``.
"""

from typing import Any, Final

from simulator.core.charges import Charge, Refund
from simulator.core.events import Event
from simulator.core.invoices import Invoice
from simulator.core.json_text import as_json, quoted
from simulator.core.messages import HttpReply
from simulator.core.results import Problem
from simulator.dialects.generic.clock import instant

Fields = dict[str, Any]

PROBLEMS: Final[dict[str, tuple[int, str]]] = {
    "bad_request": (400, "The request cannot be read"),
    "key_missing": (400, "Idempotency-Key is missing"),
    "key_invalid": (400, "Idempotency-Key must be 1 to 255 printable ASCII characters"),
    "unauthorised": (401, "A bearer token is required"),
    "declined": (402, "The charge was declined"),
    "cancel_declined": (402, "The cancellation was declined"),
    "refund_declined": (402, "The refund was declined"),
    "not_found": (404, "There is no such thing"),
    "method_not_allowed": (405, "This method is not allowed here"),
    "illegal_transition": (409, "The charge is not in a state that allows this"),
    "key_in_flight": (409, "A request is outstanding for this Idempotency-Key"),
    "too_large": (413, "The request body is too large"),
    "invalid_field": (422, "A field of the request is not acceptable"),
    "capture_exceeds_authorisation": (422, "More than was authorised cannot be captured"),
    "refund_exceeds_capture": (422, "More than was captured cannot be refunded"),
    "key_mismatch": (422, "Idempotency-Key is already used"),
    "order_charged": (422, "There is a charge for this order already"),
    "undecided": (500, "The outcome is not known yet: ask again under the same key"),
    "key_conflict": (409, "Something was made under this Idempotency-Key"),
    "rate_limited": (429, "Too many requests"),
    "internal_error": (500, "Something went wrong on our side"),
    "unavailable": (503, "The service is unavailable"),
}

JSON: Final = (("content-type", "application/json"),)
PROBLEM_JSON: Final = ("content-type", "application/problem+json")


def json_reply(status: int, value: Fields) -> HttpReply:
    return HttpReply(status, JSON, as_json(value).encode())


def problem_reply(problem: Problem, more: Fields) -> HttpReply:
    usual_status, title = PROBLEMS.get(problem.code, (500, problem.code.replace("_", " ")))
    status = problem.status or usual_status
    headers = [PROBLEM_JSON]
    if problem.retry_after_s is not None:
        headers.append(("retry-after", str(problem.retry_after_s)))
    if problem.code == "unauthorised":
        headers.append(("www-authenticate", "Bearer"))
    if problem.code == "method_not_allowed":
        headers.append(("allow", problem.detail))
    if problem.resource is not None:
        more = {"resource": problem.resource} | more
    document = {
        "type": f"urn:onecharge:problem:{problem.code}",
        "title": title,
        "status": status,
        "detail": problem.detail,
        "code": problem.code,
    }
    return HttpReply(status, tuple(headers), as_json(document | more).encode())


def charge_object(charge: Charge) -> Fields:
    return {
        "id": charge.id,
        "object": "charge",
        "status": charge.status,
        "amount_minor": charge.amount_minor,
        "captured_minor": charge.captured_minor,
        "refunded_minor": charge.refunded_minor,
        "currency": charge.currency,
        "reference": charge.reference,
        "customer": charge.customer,
        "metadata": charge.metadata,
        "decline_code": charge.decline_code,
        "created": int(charge.created_s),
    }


def charge_written(charge: Charge) -> str:
    """Return ``charge_object`` as JSON: most of what this API says, at a third of the time.

    That both say the same is a test.
    """
    return (
        f'{{"id":{quoted(charge.id)},"object":"charge","status":"{charge.status}",'
        f'"amount_minor":{charge.amount_minor},"captured_minor":{charge.captured_minor},'
        f'"refunded_minor":{charge.refunded_minor},"currency":"{charge.currency}",'
        f'"reference":{_quoted_or_null(charge.reference)},'
        f'"customer":{_quoted_or_null(charge.customer)},'
        f'"metadata":{as_json(charge.metadata) if charge.metadata else "{}"},'
        f'"decline_code":{_quoted_or_null(charge.decline_code)},'
        f'"created":{int(charge.created_s)}}}'
    )


def _quoted_or_null(text: str | None) -> str:
    return "null" if text is None else quoted(text)


def refund_object(refund: Refund, charge: Charge) -> Fields:
    return {
        "id": refund.id,
        "object": "refund",
        "charge": charge.id,
        "amount_minor": refund.amount_minor,
        "currency": charge.currency,
        "reference": charge.reference,
    }


def invoice_object(invoice: Invoice) -> Fields:
    return {
        "id": invoice.id,
        "object": "invoice",
        "order": invoice.reference,
        "amount_minor": invoice.amount_minor,
        "currency": invoice.currency,
        "customer": invoice.customer,
        "metadata": dict(invoice.metadata),
    }


def event_object(event: Event, delivered: bool) -> Fields:  # noqa: FBT001  # the fields of a result
    return {"id": event.id, "object": "event", "delivered": delivered} | news_of(event)


def news_of(event: Event) -> Fields:
    data: Fields
    if isinstance(event.thing, Invoice):
        data = {"invoice": invoice_object(event.thing)}
    else:
        assert event.charge is not None  # without a desk there is no other news
        data = {"charge": charge_object(event.charge)}
        if event.refund is not None:
            data["refund"] = refund_object(event.refund, event.charge)
    return {"type": event.type, "timestamp": instant(event.created_s), "data": data}
