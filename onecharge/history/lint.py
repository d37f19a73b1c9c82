"""What came out right by luck, or by the provider's grace: advice, never a violation.

Rule 1: every attempt at one charge carries one provider key; a new one is right only after a
        definite refusal or decline, or after looking the charge up.
Rule 2: one intent is executed once, even where the provider's key would save a second time.
Rule 3: orders that were really charged twice are not spoken of here: that is no advice.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from onecharge.history.case import Case
from onecharge.history.story import MOVES_MONEY, Call, OrderStory

_LOOKS_UP: Final = frozenset({"charge.read", "charge.list", "event.read", "event.list"})


def advice(case: Case) -> tuple[str, ...]:
    """Return one sentence for each habit, with how many orders show it and the first of them."""
    if "upstream_keys" in case.run.absent:
        return ()
    found: dict[str, list[str]] = {}
    for story in case.sent:
        if len(story.real_charges) < 2 and not _called_once(story):
            for habit, shown in _habits(case, story):
                found.setdefault(habit, []).append(f"{story.order}: {shown}")
    return tuple(
        f"{habit} ({len(shown)} order{'s' * (len(shown) > 1)}; {shown[0]})"
        for habit, shown in found.items()
    )


def _called_once(story: OrderStory) -> bool:
    """Whether the provider was called for it once, under a key: as most are."""
    return len(story.calls) == 1 and bool(story.calls[0].key)


def _habits(case: Case, story: OrderStory) -> Iterator[tuple[str, str]]:
    calls = [call for call in story.calls if call.operation in MOVES_MONEY]
    if bare := next((call for call in calls if not call.key), None):
        yield "calls that move money carry no idempotency key", f"{bare.id} {bare.operation}"
    creating = [call for call in calls if call.operation == "charge.create" and call.key]
    looked = [call.received for call in story.calls if call.operation in _LOOKS_UP]
    for one, two in pairwise(creating):
        if one.key != two.key and not _may_have_a_new_key(case, one, two, looked):
            yield (
                "a new provider key was made while the outcome of the last was unknown",
                f"{one.key} in {one.id}, {two.key} in {two.id}",
            )
            break
    for one, two in pairwise(creating):
        if one.key == two.key and _at_once(story, one, two):
            yield (
                "one order was executed twice at once, and only the provider's key saved it",
                f"{one.id} and {two.id} under {one.key}",
            )
            break


def _may_have_a_new_key(case: Case, one: Call, two: Call, looked: list[int]) -> bool:
    declined = one.charge is not None and case.charges[one.charge].declined is not None
    return declined or one.refused or any(one.received < look < two.received for look in looked)


def _at_once(story: OrderStory, one: Call, two: Call) -> bool:
    """Whether two waiting clients were both being served.

    A service that had given the first call up may rightly ask again under the same key.
    """
    given_up = one.dropped is not None or one.released_because == "caller_gone"
    waiting = sum(attempt.in_flight_at(two.received) for attempt in story.attempts)
    return one.under_way_at(two.received) and not given_up and waiting > 1
