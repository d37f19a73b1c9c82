"""Puts what was seen into words: one piece of evidence for each fact, from three sides."""

from collections.abc import Iterable

from onecharge.history.judgement import Evidence, money
from onecharge.history.story import (
    Answer,
    Attempt,
    Belief,
    Charge,
    Delivering,
    OrderStory,
    Refund,
)

_ANSWERS_SHOWN = 3
_CHARGES_SHOWN = 4


def three_sides(
    story: OrderStory, *, charges: Iterable[Charge] | None = None, answer: Answer | None = None
) -> tuple[Evidence, ...]:
    """Return what the client was told, what the provider did and what the service believes.

    ``charges`` are those that matter, all real ones if not given; ``answer`` is shown in any case,
    however many there were. In the order of the history.
    """
    shown = story.real_charges if charges is None else list(charges)
    heard = [a for a in story.attempts if a.answer is not None and a.answer is answer]
    heard += [a for a in _telling(story.attempts) if a not in heard]
    pieces = [of_attempt(attempt) for attempt in heard[:_ANSWERS_SHOWN]]
    pieces += [of_charge(charge) for charge in shown[:_CHARGES_SHOWN]]
    if story.belief is not None:
        pieces.append(of_belief(story.belief, story.currency))
    return tuple(sorted(pieces, key=lambda piece: piece.index))


def of_attempt(attempt: Attempt) -> Evidence:
    """Say what a client was told, or that it never was."""
    what = "attempt" if attempt.operation == "charge" else attempt.operation
    asked = f"{what} {attempt.number} under key {attempt.key or '(none)'}"
    answer = attempt.answer
    if answer is None:
        return Evidence(attempt.invoked, "client", f"{asked} was never answered")
    status = "" if answer.status is None else f" (HTTP {answer.status})"
    words = [f"{asked} was told: {answer.outcome.replace('_', ' ')}{status}"]
    if named := answer.provider_charge or answer.charge:
        words.append(f"charge {named}")
    if answer.error:
        words.append(answer.error)
    return Evidence(answer.index, "client", ", ".join(words))


def of_charge(charge: Charge) -> Evidence:
    """Say what the provider did for a charge."""
    key = f"provider key {charge.key}" if charge.key else "no provider key"
    if charge.captured is None:
        what = "declined" if charge.declined is not None else "opened"
        amount = money(charge.amount_minor, charge.currency)
        return Evidence(charge.created, "provider", f"{what} {charge.id}, {amount}, under {key}")
    says = f"captured {charge.id}, {money(charge.captured_minor, charge.currency)}, under {key}"
    if charge.refunded_minor:
        says += f"; gave back {money(charge.refunded_minor, charge.currency)}"
    if charge.tied_by not in {None, "reference"}:
        says += f" (known by its {charge.tied_by})"
    return Evidence(charge.captured, "provider", says)


def of_refund(refund: Refund, charge: Charge) -> Evidence:
    """Say what the provider gave back of a charge."""
    key = f"provider key {refund.key}" if refund.key else "no provider key"
    given = money(refund.amount_minor, charge.currency)
    return Evidence(refund.index, "provider", f"gave back {given} of {charge.id}, under {key}")


def of_delivery(attempt: Delivering) -> Evidence:
    """Say how the service took a delivery."""
    if attempt.acknowledged:
        took = "acknowledged"
    elif attempt.status is None:
        took = "not answered"
    else:
        took = f"answered with HTTP {attempt.status}"
    doubt = "forged " if attempt.forged else "unverifiable " if attempt.unverifiable else ""
    says = f"{doubt}delivery of {attempt.event} was {took}"
    return Evidence(attempt.sent, "provider", says)


def of_belief(belief: Belief, currency: str) -> Evidence:
    """Say what the service itself believes."""
    words = [f"believes: {belief.status or 'nothing that can be asked'}"]
    if belief.charge:
        words.append(f"charge {belief.charge}")
    if belief.effects is not None:
        words.append(f"{belief.effects} credit(s) booked")
    if belief.effects_minor is not None:
        words.append(f"worth {money(belief.effects_minor, currency)}")
    if belief.refunded_minor:
        words.append(f"{money(belief.refunded_minor, currency)} given back")
    return Evidence(belief.index, "service", ", ".join(words))


def _telling(attempts: list[Attempt]) -> list[Attempt]:
    """Return the attempts that say most: first those with a definite end, then the others."""
    return sorted(attempts, key=lambda a: (a.answer is None or not a.answer.terminal, a.invoked))
