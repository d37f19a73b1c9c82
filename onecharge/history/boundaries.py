"""Which of the three boundaries let a second charge through.

The witness decides, not a guess about the code: who was waiting, which calls were under way, under
which provider keys, and what anybody had been told by then. The first question that is answered
yes names the boundary:

1. Was the second charge made during a delivery, with no client waiting?  provider → receiver
2. Did both calls carry one provider key (and the provider forgot it)?    API → provider
3. Were two requests of the client executed at once?                      client → API
4. Had a client been told of the first charge by then?                    client → API
5. Otherwise the service tried again without knowing how it had ended.    API → provider
"""

from collections.abc import Mapping, Sequence

from onecharge.history.judgement import (
    API_TO_PROVIDER,
    CLIENT_TO_API,
    PROVIDER_TO_RECEIVER,
    Boundary,
)
from onecharge.history.story import Call, Charge, OrderStory


def open_boundary(
    story: OrderStory,
    first: Charge,
    second: Charge,
    calls: Mapping[str, Call],
    crashes: Sequence[int],
) -> tuple[Boundary, str]:
    """Return the boundary that two charges of one order came through, and the likely cause."""
    one, two = calls.get(first.call or ""), calls.get(second.call or "")
    if one is not None and two is not None and two.received < one.received:
        # What was asked for first may be held, and be done last.
        first, second, one, two = second, first, two, one
    began = second.created if two is None else two.received
    if event := _delivered_at(story, began):
        return PROVIDER_TO_RECEIVER, f"{second.id} was made while {event} was being delivered"
    if first.key is not None and first.key == second.key:
        return API_TO_PROVIDER, (
            f"both calls carried the provider key {first.key}; the provider did not honour it, and "
            "the service did not look for the charge before asking again"
        )
    if _at_once(story, one, began):
        return CLIENT_TO_API, "two requests of the client were executed at once"
    if any(a.outcome == "ok" and a.index < began for a in story.answers):
        return CLIENT_TO_API, "the first result was not bound to the client's key"
    return API_TO_PROVIDER, _tried_again(first, second, one, began, crashes)


def _delivered_at(story: OrderStory, place: int) -> str | None:
    """Return the event whose delivery was under way, unless a client was waiting as well."""
    if any(attempt.in_flight_at(place) for attempt in story.attempts):
        return None
    deliveries = (attempt for event in story.events for attempt in event.attempts)
    return next((d.event for d in deliveries if d.under_way_at(place)), None)


def _at_once(story: OrderStory, one: Call | None, began: int) -> bool:
    if one is None:
        return False
    sent = sum(attempt.invoked < began for attempt in story.attempts)
    if one.under_way_at(began) and sent > 1:
        return True
    # The provider may be quick, or the first client may have given up: then the calls do not
    # overlap, but the requests did, in a service that was told how the first one ended.
    waiting = sum(a.in_flight_at(began) for a in story.attempts)
    beside = any(one.under_way_at(a.invoked) and a.invoked < began for a in story.attempts)
    return one.answered and (waiting > 1 or beside)


def _tried_again(
    first: Charge, second: Charge, one: Call | None, began: int, crashes: Sequence[int]
) -> str:
    if second.key is None:
        return "the service sends no idempotency key to the provider"
    if any(first.created < crash < began for crash in crashes):
        return "the service was killed in between and came back with a new provider key"
    if one is not None and one.answered:
        return "the service forgot a charge it had been told of and came back with a new key"
    return "a new provider key was made after an attempt whose outcome was unknown"
