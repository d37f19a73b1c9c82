"""The answers of this service, as values.

Rule 1: an answer that was given once is stored and given again byte for byte.
Rule 2: every error is problem+json (RFC 9457): a code for programs, a detail for people.
"""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference_impl.operation import Operation


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to an HTTP request, before it has headers."""

    status: int
    body: bytes
    retry_after_s: int | None = None
    replayed: bool = False


def shown(operation: "Operation") -> dict[str, Any]:
    """Return an operation as the API shows it."""
    of_a_charge = {"charge": operation.charge} if operation.charge is not None else {}
    of_a_refund = {"provider_refund": operation.provider_refund}
    return {
        "id": operation.id,
        **of_a_charge,
        "order": operation.intent.order,
        "status": "processing" if operation.status == "in_flight" else operation.status,
        "amount_minor": operation.intent.amount_minor,
        "currency": operation.intent.currency,
        "customer": operation.intent.customer,
        "provider_charge": operation.provider_charge,
        **(of_a_refund if operation.kind == "refund" else {}),
    }


def answer_for(operation: "Operation") -> Reply:
    """Return the stored answer of what is settled, or say that it is still being worked on."""
    return operation.reply or answer(202, shown(operation), retry_after_s=1)


def replay_of(operation: "Operation") -> Reply:
    """Return the stored answer again, marked as a replay."""
    assert operation.reply is not None, "only what is settled is replayed"
    return replace(operation.reply, replayed=True)


def final_answer(operation: "Operation") -> Reply:
    """Make the answer that a settled operation gives from now on."""
    assert operation.status != "in_flight", "an answer is final once the outcome is"
    if operation.status != "failed":
        return answer(201, shown(operation))
    detail = f"the {operation.kind} was not made: {operation.failure}"
    member: dict[str, Any] = {
        "refund" if operation.kind == "refund" else "charge": shown(operation)
    }
    return problem(402, "declined", detail, reason=operation.failure, **member)


def answer(status: int, value: Any, *, retry_after_s: int | None = None) -> Reply:
    """Return a JSON answer."""
    body = json.dumps(value, separators=(",", ":")).encode()
    return Reply(status, body, retry_after_s)


def problem(
    status: int, code: str, detail: str, *, retry_after_s: int | None = None, **more: Any
) -> Reply:
    """Return an error."""
    value = {"type": "about:blank", "status": status, "code": code, "detail": detail, **more}
    return answer(status, value, retry_after_s=retry_after_s)
