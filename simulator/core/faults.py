"""A fault is what goes wrong; a rule is when; a plan is all of them.

Rule 1: a fault is a frozen dataclass whose fields are its parameters. It overrides the
        methods of the seams it bends and nothing else.
Rule 2: a fault decides, the provider acts: every method returns a bend, a value.
Rule 3: a fault is *fair* when a provider that keeps its documented promises could do it.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from simulator.core.messages import HttpReply, Seam, Until

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

    ``stored`` binds the answer to the idempotency key, so that every replay repeats it. It means
    nothing where no key is claimed: on receipt, and when the answer was a replay already.
    """

    status: int
    code: str
    stored: bool = False
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Send this reply instead of the real one. The real one stays stored under the key."""

    reply: HttpReply


@dataclass(frozen=True, slots=True)
class Break:
    """Break the connection instead of answering; see ``Drop`` for the ways to do it.

    Before the commit, nothing happens and the key is free again.
    """

    how: Literal["reset", "silence", "cut"]


@dataclass(frozen=True, slots=True)
class Decline:
    """The bank says no: a definite outcome, executed and recorded as such."""

    code: str


@dataclass(frozen=True, slots=True)
class StayPending:
    """The bank needs time: it decides on a new charge ``for_s`` virtual seconds later.

    Without a ``decline`` code it then approves. It means nothing to other operations.
    """

    for_s: float
    decline: str | None = None


@dataclass(frozen=True, slots=True)
class IgnoreKey:
    """Treat the call as if it had carried no idempotency key."""


ReceiveBend = Hold | Answer | Break | IgnoreKey
CommitBend = Hold | Answer | Break | Decline | StayPending
AnswerBend = Hold | Answer | Break | Rewrite
Bend = ReceiveBend | CommitBend | AnswerBend


@dataclass(frozen=True, slots=True)
class Copies:
    """Send the event this many times: one after the other's acknowledgement, or all at once."""

    count: int
    concurrent: bool = False


@dataclass(frozen=True, slots=True)
class Missign:
    """Sign this attempt with a secret the endpoint does not know."""


@dataclass(frozen=True, slots=True)
class Withhold:
    """Never tell this endpoint of this event; a resend is a new delivery."""


DeliveryBend = Copies | Missign | Withhold


class Fault:
    """Something that goes wrong at one or more seams; see ``simulator/faults`` for all of them."""

    __slots__ = ()

    name: ClassVar[str] = "fault"
    fair: ClassVar[bool] = True
    needs_listener: ClassVar[bool] = False
    """Whether it comes to nothing unless somebody listens for events."""

    def __init_subclass__(cls) -> None:
        """Name the fault as its file is named: ``LoseReply`` is ``lose_reply``."""
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.needs_listener |= cls.bends("on_delivery")

    @classmethod
    def bends(cls, seam: Seam) -> bool:
        """Tell whether this kind of fault has anything to say at a seam."""
        return getattr(cls, seam) is not getattr(Fault, seam)

    def on_receive(self, call: "Call") -> ReceiveBend | None:
        """Bend a call before its key is looked up."""

    def before_commit(self, call: "Call") -> CommitBend | None:
        """Bend a call whose key is claimed and whose effect has not happened."""

    def after_commit(self, call: "Call", reply: HttpReply) -> AnswerBend | None:
        """Bend the answer to a call whose effect has happened, now or when it was replayed."""

    def on_delivery(self, delivery: "Delivery") -> DeliveryBend | None:
        """Bend the news of it: the attempt that is about to begin."""
