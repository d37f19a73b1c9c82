"""What usually makes a violation so, and what closes it: one table, told by what was seen.

Rule 1: a pattern is a row of ``PATTERNS``: what is seen (``witness.py``), its likely cause, its
        usual guard.
Rule 2: the first row that fits speaks, so the rows that need more to be seen come first.
Rule 3: a cause is likely and no more; what was seen is certain, and names its records.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from onecharge.explaining import witness as seen
from onecharge.explaining.witness import Witness
from onecharge.history.case import Case
from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    GUARDS,
    PROVIDER_TO_RECEIVER,
    Judgement,
    Violation,
)

TWICE: Final = "one_charge_per_key"
BOOKED: Final = "one_effect_per_event"
SETTLES: Final = "every_order_settles"
TRUTH: Final = "answers_tell_the_truth"


@dataclass(frozen=True, slots=True)
class Cause:
    """What was seen, in one sentence with the places of its records; and what follows from it."""

    pattern: str
    seen: str
    likely: str
    guard: str


Seen = Callable[[Witness], "str | None"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One row: what tells it, and what is to be said then."""

    name: str
    of: str
    seen: Seen
    likely: str
    guard: str


def sharpened(invariant: str, judgement: Judgement, case: Case) -> Judgement:
    """Return a judgement whose violations tell the likely cause and guard of their pattern."""
    if not judgement.violations:
        return judgement
    told = tuple(_sharpened(invariant, each, case) for each in judgement.violations)
    return replace(judgement, violations=told)


def _sharpened(invariant: str, violation: Violation, case: Case) -> Violation:
    story = case.orders.get(violation.order or "")
    cause = None if story is None else cause_of(invariant, Witness(case, story))
    if cause is None:
        return violation
    return replace(violation, cause=cause.likely, guard=cause.guard)


def cause_of(invariant: str, witness: Witness) -> Cause | None:
    """Return the first pattern that fits the witness of a violation, if there is one."""
    for pattern in PATTERNS:
        if pattern.of == invariant and (says := pattern.seen(witness)):
            return Cause(pattern.name, says, pattern.likely, pattern.guard)
    return None


PATTERNS: Final[tuple[Pattern, ...]] = (
    Pattern(
        "charged_by_a_delivery",
        TWICE,
        seen.during_a_delivery,
        "handling an event makes a charge of its own",
        GUARDS[PROVIDER_TO_RECEIVER],
    ),
    Pattern(
        "forgotten_by_the_provider",
        TWICE,
        seen.under_one_key,
        "the provider had forgotten the key, and nobody looked for the charge before asking again",
        "look for the charge by your own reference before a key is used again after its retention",
    ),
    Pattern(
        "forgotten_with_its_process",
        TWICE,
        seen.told_before_a_crash,
        "the key or its result was kept in the memory of the process that died",
        "keep keys and results where they outlast a process and all instances see them",
    ),
    Pattern(
        "killed_in_between",
        TWICE,
        seen.after_a_crash,
        "what was under way was not written down before the process died, or not with its key",
        GUARDS[API_TO_PROVIDER],
    ),
    Pattern(
        "overtaken",
        TWICE,
        seen.beside_the_owner,
        "somebody else went on with what an owner who was alive had under way",
        "renew the lease while its owner lives, and give every owner the same provider key",
    ),
    Pattern(
        "commit_tried_again",
        TWICE,
        seen.again_after_a_commit,
        "a transaction whose COMMIT was not acknowledged was run again, though it had happened",
        "after a lost COMMIT look what became of it; keep the provider key out of what is repeated",
    ),
    Pattern(
        "tried_again_without_knowing",
        TWICE,
        seen.again_without_knowing,
        "the service tries again by itself, with another provider key, when it cannot know",
        GUARDS[API_TO_PROVIDER],
    ),
    Pattern(
        "all_of_it_again",
        TWICE,
        seen.again_all_of_it,
        "a step behind the charge failed, and all of the work was done again, the charge too",
        "no provider call inside of what is repeated; store its key and its result beforehand",
    ),
    Pattern(
        "hung_up",
        TWICE,
        seen.after_hanging_up,
        "the request was cancelled with its connection, and its claim given back",
        "let a request run to its end whoever waits; give a claim back on a definite failure only",
    ),
    Pattern(
        "released_without_knowing",
        TWICE,
        seen.after_not_knowing,
        "the claim was given back after an attempt whose outcome was unknown",
        "give a claim back on a definite failure only; else go on under the same provider key",
    ),
    Pattern(
        "taken_over",
        TWICE,
        seen.after_the_lease,
        "the claim was taken over from an owner who was alive: the lease is shorter than the call",
        "renew the lease while its owner lives, and give every owner the same provider key",
    ),
    Pattern(
        "looked_then_claimed",
        TWICE,
        seen.at_once,
        "both requests had looked before either had claimed the key",
        GUARDS[CLIENT_TO_API],
    ),
    Pattern(
        "claim_gone_before_the_result",
        TWICE,
        seen.after_the_claim_had_gone,
        "the claim was cleared before the result could be found: for a moment the key was new",
        "turn the claim into the result in one step, and never clear it",
    ),
    Pattern(
        "acted_on_an_old_look",
        TWICE,
        seen.on_an_old_look,
        "the request had looked before the result was there, and did not look again once it held "
        "the claim",
        "claim and look in one statement, as INSERT … ON CONFLICT does under a unique index",
    ),
    Pattern(
        "result_not_bound",
        TWICE,
        seen.after_the_answer,
        "the result is not bound to the key, or is kept where the next request does not look",
        GUARDS[CLIENT_TO_API],
    ),
    Pattern(
        "event_looked_for_then_inserted",
        BOOKED,
        seen.copies_at_once,
        "both deliveries had looked for the event before either had recorded it",
        GUARDS[PROVIDER_TO_RECEIVER],
    ),
    Pattern(
        "event_not_remembered",
        BOOKED,
        seen.copies_in_turn,
        "a delivery is booked without asking whether its event is known",
        GUARDS[PROVIDER_TO_RECEIVER],
    ),
    Pattern(
        "booked_by_both_paths",
        BOOKED,
        seen.by_both_paths,
        "the answer to the call and the event both booked the charge",
        "one booking for each charge, by a unique index, whoever learns of it first",
    ),
    Pattern(
        "acknowledged_before_booked",
        BOOKED,
        seen.never_told,
        "the event was acknowledged, or marked as known, before its effect was durable",
        GUARDS[PROVIDER_TO_RECEIVER],
    ),
    Pattern(
        "claim_left_behind",
        SETTLES,
        seen.stuck_after_a_crash,
        "the claim of a process that died is never given up: no lease, and nobody who looks",
        "a lease on every claim, and a reconciler that asks the provider under the same key",
    ),
    Pattern(
        "unknown_taken_for_failed",
        TRUTH,
        seen.failed_without_knowing,
        "an outcome that nobody can know was recorded as a failure",
        "keep it unknown, and ask the provider under the same key until it is known",
    ),
)
"""What is seen → what usually makes it so → what closes it."""
