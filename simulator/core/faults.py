"""A fault is what goes wrong; a rule is when; a plan is all of them.

Rule 1: a fault is a frozen dataclass whose fields are its parameters. It overrides the
        methods of the seams it bends and nothing else.
Rule 2: a fault decides, the provider acts: every method returns a bend, a value.
Rule 3: a fault is *fair* when a provider that keeps its documented promises could do it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simulator.core.messages import HttpReply, Until

if TYPE_CHECKING:
    from simulator.core.calls import Call
    from simulator.core.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Hold:
    """Stop here until a condition comes true, then go on."""

    until: Until


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this error instead; before the commit, nothing happens at all.

    ``stored`` binds the answer to the idempotency key, so that every replay repeats it.
    """

    status: int
    code: str
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Send this reply instead of the real one. The real one stays stored under the key."""

    reply: HttpReply


@dataclass(frozen=True, slots=True)
class Break:
    """Break the connection instead of answering: ``reset``, ``silence`` or ``cut``."""

    how: str


@dataclass(frozen=True, slots=True)
class Decline:
    """The bank says no: a definite outcome, executed and recorded as such."""

    code: str


@dataclass(frozen=True, slots=True)
class IgnoreKey:
    """Treat the call as if it had carried no idempotency key."""


Bend = Hold | Answer | Rewrite | Break | Decline | IgnoreKey


@dataclass(frozen=True, slots=True)
class Copies:
    """Send the event this many times: one after the other's answer, or all at once."""

    count: int
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class Missign:
    """Sign this attempt with a secret the endpoint does not know."""


DeliveryBend = Copies | Missign


class Fault:
    """Something that goes wrong at one or more seams; see ``simulator/faults`` for all of them."""

    fair: ClassVar[bool] = True

    def on_receive(self, call: "Call") -> Bend | None:
        """Bend a call before its key is looked up."""

    def before_commit(self, call: "Call") -> Bend | None:
        """Bend a call whose key is claimed and whose effect has not happened."""

    def after_commit(self, call: "Call", reply: HttpReply) -> Bend | None:
        """Bend the answer to a call whose effect has happened."""

    def on_delivery(self, delivery: "Delivery") -> DeliveryBend | None:
        """Bend the news of it."""
