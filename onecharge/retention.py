"""What a service may have forgotten by now, as its file documents it.

Rule 1: counted from the first press of a key, before which no service can have begun to count. It
        may still remember: the judge then has two answers that need not be the same, nor differ.
Rule 2: a key that is pressed once it may be forgotten begins a life of its own.
"""

from onecharge.press import Order
from simulator.core.journal import Entry, Sink

EXPIRED = "expired"


def note_a_new_life(
    sink: Sink, order: Order, key: str | None, *, retention_s: float | None, now_s: float
) -> None:
    """Write down, before ``key`` is pressed, that nothing of its earlier presses has to be known.

    Without a documented retention, ``None``, a key is remembered for good.
    """
    since_s = order.keys_since_s.setdefault(key, now_s)
    if retention_s is not None and now_s - since_s >= retention_s:
        order.keys_since_s[key] = now_s
        sink(Entry("judge", "invoke", {"what": EXPIRED}, order.reference, order.tenant, key))
