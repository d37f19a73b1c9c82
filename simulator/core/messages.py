"""HTTP messages and decisions as values: what the machine is fed and what it answers.

Rule 1: nothing here opens a socket; a decision says what the shell must do with a call.
Rule 2: a call is answered exactly once, by ``Reply`` or ``Drop``; until then it may be ``Held``
        by a fault, or be ``Waiting`` for another.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from simulator.core.values import value

Seam = Literal["on_receive", "before_commit", "after_commit", "on_delivery"]
"""The four places where a call can be bent (design: faults).

``on_receive``: before the key is looked up · ``before_commit``: key claimed, nothing has
happened · ``after_commit``: it has happened, the answer may suffer · ``on_delivery``: the
news of it, one webhook attempt.
"""

Condition = Literal[
    "released",  # by control, or by the harness
    "elapsed",  # amount: milliseconds
    "arrived",  # amount: so many calls of this operation and order are in flight
    "caller_gone",  # the caller closed its connection: gave up or was killed
    "delivered",  # an event of this order has been answered by an endpoint
    "quiet",  # nothing moves any more; amount: milliseconds of silence
]


@value(frozen=True, slots=True)
class Until:
    """What a held call waits for. The core carries it and never looks inside."""

    condition: Condition
    amount: int = 0
    at_most_ms: int = 10_000


@value(frozen=True, slots=True)
class HttpRequest:
    """A request as it came off the wire. Header names are lower case; ``query`` keeps order.

    ``source`` names the listening address it came through, which tells the instances of a
    service apart without asking them.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    source: str = ""


@value(frozen=True, slots=True)
class HttpReply:
    """An answer, ready to be written."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@value(frozen=True, slots=True)
class Reply:
    """Write ``reply`` to the caller of ``call``."""

    call: str
    reply: HttpReply


@value(frozen=True, slots=True)
class Drop:
    """Never answer ``call`` properly.

    ``reset`` closes the connection with RST before a byte of the answer; ``silence`` keeps it
    open and says nothing until the caller gives up; ``cut`` writes the head and half of the
    body of ``reply`` and then resets.
    """

    call: str
    how: Literal["reset", "silence", "cut"]
    reply: HttpReply | None = None


@value(frozen=True, slots=True)
class Held:
    """Keep ``call`` at ``seam`` until its condition comes true, then ``resume`` it."""

    call: str
    seam: Seam
    until: Until


@value(frozen=True, slots=True)
class Waiting:
    """Keep ``call`` until ``behind``, which has the same key, has come to an outcome.

    Nobody resumes it: its own end comes among the actions of the call that was first.
    """

    call: str
    behind: str


Action = Reply | Drop | Held | Waiting
