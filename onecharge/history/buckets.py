"""How every unknown outcome ended, once nothing moved any more.

| bucket     | money taken | the service or the client knows       |
|------------|-------------|---------------------------------------|
| recovered  | once        | that it succeeded                     |
| void       | never       | that nothing was taken                |
| lost       | either      | the opposite of what happened         |
| stuck      | either      | nothing definite                      |
| duplicated | twice, more | (whatever they know)                  |
"""

from typing import Final, Literal, get_args

from onecharge.history.case import Case
from onecharge.history.story import OrderStory

Bucket = Literal["recovered", "void", "lost", "stuck", "duplicated"]
BUCKETS: Final[tuple[Bucket, ...]] = get_args(Bucket)

_ENDS: Final[dict[tuple[bool, bool | None], Bucket]] = {
    (True, True): "recovered",
    (False, False): "void",
    (True, False): "lost",
    (False, True): "lost",
    (True, None): "stuck",
    (False, None): "stuck",
}
"""By whether money was taken, and whether it is known to be (None: nobody knows)."""


def buckets(case: Case) -> dict[Bucket, int]:
    """Count the orders that had an unknown answer, by how they ended."""
    counts = dict.fromkeys(BUCKETS, 0)
    for story in case.sent:
        if bucket := bucket_of(story):
            counts[bucket] += 1
    return counts


def bucket_of(story: OrderStory) -> Bucket | None:
    """Return how an order with an unknown answer ended; None if it never had one."""
    if "unknown" not in [attempt.outcome for attempt in story.attempts]:
        return None
    real = len(story.real_charges)
    return "duplicated" if real > 1 else _ENDS[bool(real), _known_as(story)]


def _known_as(story: OrderStory) -> bool | None:
    """Return what is believed: taken, not taken, or nothing definite."""
    match None if story.belief is None else story.belief.status:
        case "succeeded":
            return True
        case "failed" | "absent":
            return False
        case "pending":
            return None
        case _:  # it could not be asked: the client's last definite answer counts
            last = [answer for answer in story.answers if answer.terminal][-1:]
            return last[0].outcome == "ok" if last else None
