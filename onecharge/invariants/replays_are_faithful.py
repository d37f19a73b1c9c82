"""A request that comes again is told what its first definite answer was.

Compared by the charge that is named and by the class of the outcome, and beyond that only by the
fields that the service file calls stable. A duplicate may be told to wait; a decline may be
followed by a success, since providers differ on whether a decline is kept; after its documented
retention a key is a new one. What may not be: another name for the same purchase, a success that
is denied later, a 2xx that says nothing where an answer was, and an honest repetition refused as
if it had said something else. To refuse the same JSON because it was written with other white
space is strict, and allowed: advice.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import three_sides
from onecharge.history.judgement import CLIENT_TO_API, Judgement, Violation
from onecharge.history.story import Answer, Attempt, OrderStory

RANK: Final = 31

_BIND_GUARD: Final = "bind the first result to the client's key and replay that one"
_PRINT_GUARD: Final = (
    "make the fingerprint of what the request means, not of its headers or its white space, and "
    "keep it as long as the key"
)
_ACCEPTED: Final = frozenset({"ok", "pending", "declined", "in_flight"})
_DENIALS: Final = frozenset({"declined", "invalid", "mismatch"})


def judge(case: Case) -> Judgement:
    """Compare the answers to every key, within each of its lives."""
    judged = 0
    violations: list[Violation] = []
    strict: list[str] = []
    for story in case.sent:
        if len(story.attempts) < 2:
            continue
        lives = _by_key(case, story)
        looks = _definite(story.asked_how) if len(lives) == 1 else []  # of which key, none says
        for attempts in lives:
            answered = sorted((a for a in attempts if a.answer is not None), key=_heard)
            judged += _repeated(answered, looks)
            strict += [story.order for a in answered if _strictly_refused(a)]
            real = {name for charge in story.real_charges for name in charge.names}
            found = next(_other_results(story, answered, real), None)
            if found := found or next(_unfaithful(story, attempts, answered, looks), None):
                violations.append(found)
    return Judgement.of(judged=judged, violations=violations, advice=_advice(strict))


def at_once(case: Case, story: OrderStory) -> Violation | None:
    """Report an answer that is not the first one again; questions how it went are left aside.

    While it is not known whose some charge is, nobody knows whether two names are two charges.
    """
    if len(story.attempts) < 2:
        return None
    made = {name for charge in story.charges for name in charge.names}
    for attempts in _by_key(case, story):
        answered = sorted((a for a in attempts if a.answer is not None), key=_heard)
        found = None
        if not case.unattributed:
            found = next(_other_results(story, answered, made), None)
        if found := found or next(_unfaithful(story, attempts, answered, ()), None):
            return found
    return None


def _by_key(case: Case, story: OrderStory) -> list[list[Attempt]]:
    lives: dict[tuple[str | None, str | None, int], list[Attempt]] = {}
    for attempt in story.attempts:
        life = (attempt.tenant, attempt.key, case.life_at(attempt.invoked, story))
        lives.setdefault(life, []).append(attempt)
    return list(lives.values())


def _definite(answered: Sequence[Attempt]) -> list[Attempt]:
    """Return what was answered for certain, in the order in which it was heard."""
    return sorted((a for a in answered if a.outcome in {"ok", "declined"}), key=_heard)


def _repeated(answered: Sequence[Attempt], looks: Sequence[Attempt]) -> int:
    """Count the honest answers that there is an earlier one to compare with.

    ``looks`` are definite answers to who asked how the charge went: where a request is answered
    202, they are the only ones.
    """
    honest = [attempt for attempt in answered if not attempt.other_body]
    definite = _definite(honest)
    if not definite and not looks:
        return 0
    first = min(attempt.ended for attempt in (*definite, *looks))
    return sum(a.invoked > first for a in honest) + max(0, len(definite) - 1)


def _strictly_refused(attempt: Attempt) -> bool:
    """Whether it was refused for its bytes alone: the fingerprint may be of the whole body."""
    return attempt.variant == "json_jitter" and attempt.outcome in {"mismatch", "invalid"}


def _advice(strict: list[str]) -> tuple[str, ...]:
    if not strict:
        return ()
    says = "the same JSON with other white space or order of fields is refused as another request"
    return (f"{says} ({len(strict)}; {strict[0]})",)


def _unfaithful(
    story: OrderStory,
    attempts: Sequence[Attempt],
    answered: Sequence[Attempt],
    looks: Sequence[Attempt],
) -> Iterator[Violation]:
    honest = _honest(answered)
    definite = _definite([*honest, *looks])
    first = next((attempt for attempt in definite if attempt.outcome == "ok"), None)
    for attempt in honest:
        if definite and definite[0].ended < attempt.invoked and _means_nothing(attempt):
            yield _emptied(story, definite[0], attempt)
        elif first and first.ended < attempt.invoked and attempt.outcome in _DENIALS:
            yield _denied(story, first, attempt)
        elif attempt.outcome == "mismatch" and _was_the_same(story, attempts, attempt):
            yield _refused(story, attempt)


def _honest(answered: Sequence[Attempt]) -> list[Attempt]:
    return [a for a in answered if not a.other_body and not _strictly_refused(a)]


def _other_results(
    story: OrderStory, answered: Sequence[Attempt], real: AbstractSet[str]
) -> Iterator[Violation]:
    successes = [attempt for attempt in _honest(answered) if attempt.outcome == "ok"]
    for attempt in successes[1:]:
        yield from _another_result(story, successes[0], attempt, real)


def _another_result(
    story: OrderStory, one: Attempt, two: Attempt, real: AbstractSet[str]
) -> Iterator[Violation]:
    assert one.answer is not None
    assert two.answer is not None
    if names := _different_names(one.answer, two.answer):
        if not real >= set(names):  # two real charges are one_charge_per_key's to tell
            says = f"one key was answered with {names[0]} and with {names[1]}"
            yield _violation(story, two, says, "a repeated request got a result of its own")
    elif field := _unstable(one.answer, two.answer):
        was, now = (one.answer.stable or {})[field], (two.answer.stable or {})[field]
        says = f"one key was answered with {field} {was!r} and with {now!r}"
        yield _violation(story, two, says, "the answer is made anew instead of being replayed")


def _different_names(one: Answer, two: Answer) -> tuple[str, str] | None:
    for a, b in ((one.provider_charge, two.provider_charge), (one.charge, two.charge)):
        if a is not None and b is not None and a != b:
            return a, b
    return None


def _unstable(one: Answer, two: Answer) -> str | None:
    was, now = one.stable or {}, two.stable or {}
    return next((f for f, value in was.items() if f in now and now[f] != value), None)


def _means_nothing(attempt: Attempt) -> bool:
    """Whether it was answered whole and in time, as a success in which nobody can read one."""
    answer = attempt.answer
    if answer is None or answer.outcome != "unknown" or answer.error is not None:
        return False
    return answer.status is not None and 200 <= answer.status < 300


def _was_the_same(story: OrderStory, attempts: Sequence[Attempt], attempt: Attempt) -> bool:
    """Whether the key had been accepted with this body, and with no other, by then."""
    if any(other.other_body and other.invoked < attempt.ended for other in attempts):
        return False
    before = [other for other in attempts if other.invoked < attempt.invoked]
    return any(other.outcome in _ACCEPTED or _came_in(story, other, attempt) for other in before)


def _came_in(story: OrderStory, unanswered: Attempt, attempt: Attempt) -> bool:
    """Whether a request without an answer has been taken: then the provider was called for it.

    A request may be lost on its way, and a service refuse it once it comes, for what it is.
    """
    return unanswered.outcome == "unknown" and any(
        unanswered.invoked < call.received < attempt.ended for call in story.calls
    )


def _denied(story: OrderStory, first: Attempt, attempt: Attempt) -> Violation:
    told = attempt.outcome.replace("_", " ")
    says = f"told ok (attempt {first.number}), and {told} when it came again"
    return _violation(story, attempt, says, "the first result was not replayed")


def _emptied(story: OrderStory, first: Attempt, attempt: Attempt) -> Violation:
    assert attempt.answer is not None
    says = (
        f"told {first.outcome} (attempt {first.number}), and HTTP {attempt.answer.status} without "
        "a word of that when it came again"
    )
    return _violation(story, attempt, says, "only a part of the first answer was stored")


def _refused(story: OrderStory, attempt: Attempt) -> Violation:
    how = " with other headers" * (attempt.variant == "header_jitter")
    says = f"the same request{how} was refused as another one"
    cause = "the stored fingerprint was lost, or covers what means nothing"
    return _violation(story, attempt, says, cause, guard=_PRINT_GUARD)


def _violation(
    story: OrderStory, attempt: Attempt, says: str, cause: str, guard: str = _BIND_GUARD
) -> Violation:
    return Violation(
        order=story.order,
        says=f"{story.order}: {says}",
        evidence=three_sides(story, answer=attempt.answer),
        boundary=CLIENT_TO_API,
        guard=guard,
        cause=cause,
        at_risk_minor=attempt.amount_minor,
        currency=story.currency,
    )


def _heard(attempt: Attempt) -> float:
    return attempt.ended
