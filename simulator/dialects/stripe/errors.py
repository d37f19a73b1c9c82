"""Everything that can be wrong, in the shape and with the codes of the real thing.

Rule 1: types and codes are exact; the sentences for people are our own.
Rule 2: what a fault invents gets its type from its status: above 499 it is theirs.
"""

from dataclasses import dataclass
from typing import Any, Final

from simulator.core.json_text import as_json
from simulator.core.messages import HttpReply
from simulator.core.results import Problem
from simulator.dialects.stripe.declines import decline_of, doc_url

INVALID: Final = "invalid_request_error"
IN_FLIGHT_TYPE: Final = INVALID
"""The type of the 409. Nobody documents it; this is what was seen in the field in 2018."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one problem is told. ``retry`` is what ``Stripe-Should-Retry`` says, if anything."""

    status: int
    message: str
    code: str | None = None
    type: str = INVALID
    retry: bool | None = None


PROBLEMS: Final[dict[str, Row]] = {
    "amount_too_large": Row(400, "The amount is too large", "amount_too_large"),
    "amount_too_small": Row(400, "The amount is too small", "amount_too_small"),
    "bad_request": Row(400, "The request cannot be read"),
    "cancel_declined": Row(402, "The bank refuses to let go", "card_declined", "card_error"),
    "charge_already_refunded": Row(
        400, "The charge has been refunded already", "charge_already_refunded"
    ),
    "incorrect_number": Row(402, "The card number is wrong", "incorrect_number", "card_error"),
    "intent_state": Row(
        400, "The PaymentIntent is not in a state for this", "payment_intent_unexpected_state"
    ),
    "internal_error": Row(500, "Something went wrong on our side", type="api_error"),
    "invalid_value": Row(400, "A parameter is not acceptable"),
    "key_in_flight": Row(
        409,
        "Another request with this Idempotency-Key is being worked on",
        "idempotency_key_in_use",
        IN_FLIGHT_TYPE,
        retry=True,
    ),
    "key_invalid": Row(400, "An Idempotency-Key has 1 to 255 printable characters"),
    "key_mismatch": Row(
        400,
        "This Idempotency-Key was first used with other parameters or another endpoint",
        type="idempotency_error",
        retry=False,
    ),
    "method_free": Row(400, "The payment method is attached to nobody"),
    "method_missing": Row(
        400, "There is no payment method to confirm with", "payment_intent_unexpected_state"
    ),
    "method_taken": Row(400, "The payment method is attached to somebody else"),
    "not_found": Row(404, "There is no such thing", "resource_missing"),
    "nothing_to_refund": Row(400, "There is no successful charge to refund"),
    "parameter_invalid_empty": Row(400, "A parameter is empty", "parameter_invalid_empty"),
    "parameter_invalid_integer": Row(400, "Invalid integer", "parameter_invalid_integer"),
    "parameter_missing": Row(400, "A parameter is missing", "parameter_missing"),
    "parameter_unknown": Row(400, "Received an unknown parameter", "parameter_unknown"),
    "rate_limited": Row(429, "Too many requests", "rate_limit"),
    "refund_declined": Row(402, "The bank refuses the refund", "card_declined", "card_error"),
    "refund_exceeds_capture": Row(400, "More than is left of the charge cannot be refunded"),
    "secret_key_required": Row(
        401, "This takes a secret key, not a publishable one", "secret_key_required"
    ),
    "too_large": Row(413, "The request is too large"),
    "too_much": Row(400, "More than was authorised cannot be captured", "amount_too_large"),
    "unauthorised": Row(401, "No sound API key was given"),
    "unavailable": Row(503, "The service is not available", type="api_error"),
    "unknown_reference": Row(400, "A parameter names what does not exist", "resource_missing"),
    "unrecognised_url": Row(404, "Unrecognized request URL"),
    "url_invalid": Row(400, "This is no URL", "url_invalid"),
    "wrong_client_secret": Row(400, "The client_secret is not that of the PaymentIntent"),
}

JSON: Final = ("content-type", "application/json")


def reply(problem: Problem, more: dict[str, Any] | None = None) -> HttpReply:
    """Put a problem into the provider's words; ``more`` goes into the error as well."""
    row = PROBLEMS.get(problem.code) or _invented(problem)
    status = problem.status or row.status
    error: dict[str, Any] = {"message": _sentence(row, problem), "type": row.type}
    if row.code is not None:
        error |= {"code": row.code, "doc_url": doc_url(row.code)}
    if problem.field is not None:
        error["param"] = problem.field
    headers = [JSON]
    if row.retry is not None:
        headers.append(("stripe-should-retry", "true" if row.retry else "false"))
    elif problem.retry_after_s is not None:
        headers.append(("retry-after", str(problem.retry_after_s)))
    if status == 401:
        headers.append(("www-authenticate", 'Bearer realm="Stripe"'))
    return json_reply(status, {"error": error | (more or {})}, tuple(headers))


def declined(reason: str, more: dict[str, Any]) -> HttpReply:
    """Say that the bank refuses a card."""
    return json_reply(402, {"error": decline_of(reason).error("card") | more})


def json_reply(
    status: int, data: dict[str, Any], headers: tuple[tuple[str, str], ...] = (JSON,)
) -> HttpReply:
    """Return JSON, without a space too much: replies are kept as long as their keys."""
    return HttpReply(status, headers, as_json(data).encode())


def _invented(problem: Problem) -> Row:
    status = problem.status or 500
    if status >= 500:
        return Row(status, problem.code.replace("_", " "), type="api_error")
    return Row(status, problem.code.replace("_", " "), problem.code)


def _sentence(row: Row, problem: Problem) -> str:
    return f"{row.message}: {problem.detail}." if problem.detail else f"{row.message}."
