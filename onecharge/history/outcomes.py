"""What a client saw, in nine words, and what it may conclude from each.

Rule 1: *fail* says that this attempt caused no effect; *unknown* says nothing at all.
Rule 2: when in doubt the outcome is unknown: a wrong "unknown" costs a sentence in a report, a
        wrong "fail" costs a customer's money.
Rule 3: what an answer means is the service's to say (``AnswerRules``); what it allows one to
        conclude is ours (``MEANING``).
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Outcome = Literal[
    "ok",
    "pending",
    "declined",
    "mismatch",
    "invalid",
    "in_flight",
    "retry_later",
    "refused",
    "unknown",
]

REFUSED: Final = "refused"
"""The ``error`` of a connection that was refused before a byte was sent."""

LEFT: Final = "the customer closed the connection"
"""Why there is no answer where nobody waited for it any more."""


class Meaning(NamedTuple):
    """The kind of record an outcome is written as, and whether the order stays open."""

    kind: Literal["ok", "fail", "unknown"]
    open: bool


MEANING: Final[dict[Outcome, Meaning]] = {
    "ok": Meaning("ok", open=False),  # a real charge must exist
    "pending": Meaning("ok", open=True),  # must become terminal
    "declined": Meaning("fail", open=False),
    "mismatch": Meaning("fail", open=False),  # speaks of the mismatching body only
    "invalid": Meaning("fail", open=False),
    "in_flight": Meaning("fail", open=True),  # another attempt is at work
    "retry_later": Meaning("fail", open=True),
    "refused": Meaning("fail", open=True),  # not a byte was sent
    "unknown": Meaning("unknown", open=True),
}

TERMINAL: Final[frozenset[Outcome]] = frozenset({"ok", "declined"})
"""The outcomes that say how the order ended."""


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """What a service's answers mean: sets of HTTP statuses, and of words for a charge's status.

    An empty ``succeeded`` says that the service has no such word and that any 2xx is a success.
    """

    declined: frozenset[int] = frozenset({402})
    mismatch: frozenset[int] = frozenset({422})
    in_flight: frozenset[int] = frozenset({409})
    retry_later: frozenset[int] = frozenset({425, 429, 503})
    invalid: frozenset[int] = frozenset({400, 401, 403, 404, 405, 413})
    succeeded: frozenset[str] = frozenset({"succeeded"})
    pending: frozenset[str] = frozenset({"pending", "processing"})
    failed: frozenset[str] = frozenset({"failed"})


def classify(
    status: int | None,
    word: str | None,
    error: str | None,
    answers: AnswerRules,
    *,
    retry_after: bool = False,
) -> Outcome:
    """Say what the client saw.

    ``status`` is the HTTP status of the answer, ``word`` the charge's status in its body, ``error``
    why there is no whole, readable answer (``REFUSED``, or any text: a timeout, a reset, a cut-off
    or garbled body), ``retry_after`` whether the answer had that header.
    """
    if error is not None or status is None:
        return "refused" if error == REFUSED else "unknown"
    if 200 <= status < 300:
        return _by_word(status, word, answers)
    return _by_status(status, answers, retry_after=retry_after)


def _by_word(status: int, word: str | None, answers: AnswerRules) -> Outcome:
    word = (word or "").lower()
    if word in answers.succeeded:
        return "ok"
    if word in answers.failed:
        return "declined"
    if word in answers.pending or (not word and status == 202):
        return "pending"
    # A 2xx without a word we know is garbled, unless the service has no words.
    return "unknown" if answers.succeeded else "ok"


def _by_status(status: int, answers: AnswerRules, *, retry_after: bool) -> Outcome:
    if status in answers.declined:
        return "declined"
    if status in answers.mismatch:
        return "mismatch"
    if status in answers.in_flight:
        return "in_flight"
    if status in answers.retry_later and (status < 500 or retry_after):
        # A bare 503 may come from anything on the way, after the request was passed on.
        return "retry_later"
    if status in answers.invalid:
        return "invalid"
    return "unknown"
