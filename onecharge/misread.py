"""Why an answer to a plain request is not the success that was expected. No I/O.

Rule 1: it is said what came, how the service file reads it, and which of its fields to look at.
"""

from typing import Any, Final, Literal

from onecharge.history.outcomes import REFUSED
from onecharge.service_file import Answer, ServiceFile
from onecharge.templates import placeholders

What = Literal["charge", "capture", "refund"]
"""What was asked for: the table of the service file that says how."""

_SHOWN: Final = 200
_NO_REDIRECTS: Final = (
    "redirect and hosted-checkout flows are not supported; if it leads to a log-in page, "
    "log in by [[prepare]]"
)


def misread(file: ServiceFile, what: What, value: Any) -> str:
    """Say what came back and why it is no success; ``value`` is that of the answer's record."""
    if value["status"] is None:
        return _unanswered(value["error"])
    return _answered(file, what, value)


def _answer_of(file: ServiceFile, what: What) -> Answer:
    table = {"charge": file.charge, "capture": file.capture, "refund": file.refund}[what]
    assert table is not None, "asked for only where the file has it"
    return table.answer


def _unanswered(error: str) -> str:
    if error == REFUSED:
        return "got no answer: the connection was refused; does the service listen there?"
    return f"got no answer: {error}"


def _answered(file: ServiceFile, what: What, value: Any) -> str:
    status, outcome = value["status"], value["outcome"]
    began = f"; the answer began: {value['body'][:_SHOWN]!r}"
    reads = f"was answered HTTP {status}, which reads as {outcome!r} by {what}.answer"
    match status:
        case _ if 300 <= status < 400:
            where = f" to {value['location']}" if value.get("location") else ""
            return f"was answered with a redirect, HTTP {status}{where}: {_NO_REDIRECTS}"
        case 401 | 403:
            return f"{reads}: {_not_let_in(file)}{began}"
        case 404 | 405:
            return f"{reads}: has the service this path, with this method?{began}"
        case 400 | 415 | 422:
            return f"{reads}: is its body what the service takes?{began}"
        case _ if 200 <= status < 300:
            return _read_as_no_success(file, what, value) + began
    return reads + began


def _read_as_no_success(file: ServiceFile, what: What, value: Any) -> str:
    """Say why a 2xx is not understood as a success; ``value`` is that of its record."""
    answer, status, outcome = _answer_of(file, what), value["status"], value["outcome"]
    reads = f"was answered HTTP {status}, which reads as {outcome!r} by {what}.answer"
    word = value.get("word")
    if outcome == "pending":
        return f"{reads}, and went on doing so{_while_asked(file, what)}"
    if outcome == "declined":
        return f"{reads}: {word!r} is one of {what}.answer.failed, and no fault was on"
    if "word" not in value:
        return f"{reads}: expected JSON; say {what}.answer.succeeded_statuses if it has no body"
    if word is None:
        return f"{reads}: expected a word for its status at {answer.status}, found nothing there"
    known = (*answer.succeeded, *answer.pending, *answer.failed)
    return (
        f"{reads}: its status {word!r} is in none of {what}.answer.succeeded, pending and failed "
        f"({', '.join(known)})"
    )


def _while_asked(file: ServiceFile, what: What) -> str:
    if what != "charge":
        return (
            f" when it was asked again with the same key; or the words in {what}.answer.succeeded"
        )
    if file.charge.poll is None:
        return (
            "; how does a customer learn the outcome? Say [charge.poll], or the words in "
            "charge.answer.succeeded"
        )
    return " while [charge.poll] asked, or the words in charge.answer.succeeded"


def _not_let_in(file: ServiceFile) -> str:
    """Say what to look at when the service knows its customer not."""
    named = {
        name
        for request in (*file.prepare, file.charge)
        for part in (request.path, request.headers, request.json_body, request.form)
        for name in placeholders(part)
    }
    if "token" in named:
        tenants = ", ".join(file.tenants)
        return f"is the credential in [tenants] ({tenants}) one that the service knows?"
    if file.prepare or file.headers_command:
        return "does [[prepare]] or headers_command log its customer in?"
    return (
        "it wants a credential, and no request names {token}; give one in [tenants] and send it, "
        'as headers = { Authorization = "Bearer {token}" }'
    )
