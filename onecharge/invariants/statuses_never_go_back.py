"""What the service once said had succeeded or was refunded is never less than that again.

Every word on an order counts, in the order in which it was said: what clients were told and read,
and what the service believed each time it was asked. A failure may become a success, a success may
be refunded; a late or stale event makes nothing undone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from onecharge.history.case import Case
from onecharge.history.evidence import of_belief, three_sides
from onecharge.history.judgement import PROVIDER_TO_RECEIVER, Evidence, Judgement, Violation
from onecharge.history.story import OrderStory

NEEDS: Final = frozenset({"read_back"})
RANK: Final = 32

_GUARD: Final = (
    "let an event change a status only along the transitions there are, or look up what is true "
    "now instead of trusting the order in which events arrive"
)
_WORDS: Final = {"ok": "succeeded", "declined": "failed", "pending": "pending"}
_BELOW: Final[dict[str, frozenset[str]]] = {
    "succeeded": frozenset({"failed", "pending", "absent"}),
    "refunded": frozenset({"failed", "pending", "absent", "succeeded"}),
}
"""What would be a step back, by what was said before."""


@dataclass(frozen=True, slots=True)
class _Word:
    """Something that the service said of an order: begun to be asked, and said, at these places."""

    asked: int
    said: int
    word: str
    read: bool


def judge(case: Case) -> Judgement:
    """Look at all that was said of each order, one word after the other."""
    judged = 0
    violations: list[Violation] = []
    for story in case.sent:
        if _once_well(story):
            judged += bool(story.answers)
            continue
        words = _words(story)
        reads = sum(word.read for word in words)
        judged += reads > 1 or (reads > 0 and len(words) > reads)
        if step := next(_steps_back(story, words), None):
            violations.append(_violation(story, *step))
    return Judgement.of(judged=judged, violations=violations)


def at_once(_: Case, story: OrderStory) -> Violation | None:
    """Report a reading below what was said before; *succeeded* may be right again in the end."""
    if _once_well(story):
        return None
    steps = _steps_back(story, _words(story))
    step = next((step for step in steps if step[1].word != "succeeded"), None)
    return None if step is None else _violation(story, *step)


def _once_well(story: OrderStory) -> bool:
    """Whether it was asked once, at the end, and said the best there is to say: most are so."""
    return not story.others and len(story.beliefs) == 1 and story.beliefs[0].status == "succeeded"


def _words(story: OrderStory) -> list[_Word]:
    words = [
        _Word(attempt.invoked, attempt.answer.index, word, attempt.operation == "read")
        for attempt in (*story.attempts, *story.others)
        if attempt.operation in {"charge", "read"} and attempt.variant != "other_tenant"
        if attempt.answer is not None and (word := _WORDS.get(attempt.outcome))
    ]
    words += [
        _Word(belief.index, belief.index, belief.status, True)
        for belief in story.beliefs
        if belief.status not in {None, "unreadable"}
    ]
    return sorted(words, key=lambda word: word.said)


def _steps_back(story: OrderStory, words: list[_Word]) -> Iterator[tuple[_Word, _Word]]:
    """Find a reading below what had been said before it was asked for.

    Repeated requests to pay are ``replays_are_faithful``'s, and an answer that was followed by
    silence (absent at the end) is ``every_order_settles``'.
    """
    best: _Word | None = None
    for word in words:
        if best and word.read and best.said < word.asked and word.word in _BELOW[best.word]:
            given_back_in_part = word.word == "succeeded" and story.kept_minor
            lost = word.word == "absent" and not best.read
            if not given_back_in_part and not lost:
                yield best, word
        if word.word in _BELOW and (best is None or word.word not in _BELOW[best.word]):
            best = word


def _violation(story: OrderStory, best: _Word, word: _Word) -> Violation:
    pieces = set(three_sides(story))
    pieces.update(of_belief(belief, story.currency) for belief in story.beliefs)
    told = [d for event in story.events for d in event.attempts if best.said < d.sent < word.said]
    between = f"; {told[-1].event} came in between" if told else ""
    says = f"{story.order} was {best.word} (#{best.said}) and then {word.word} (#{word.said})"
    pieces.add(Evidence(best.said, "service", f"said: {best.word}"))
    return Violation(
        order=story.order,
        says=says,
        evidence=tuple(sorted(pieces, key=lambda piece: (piece.index, piece.says))),
        boundary=PROVIDER_TO_RECEIVER,
        guard=_GUARD,
        cause=f"what arrived last was taken for what is true{between}",
        at_risk_minor=story.amount_minor,
        currency=story.currency,
    )
