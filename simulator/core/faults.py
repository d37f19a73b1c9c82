"""A fault is what goes wrong; a rule is when; a plan is all of them.

Rule 1: a fault is a frozen dataclass whose fields are its parameters. It overrides the
        methods of the seams it bends and nothing else.
Rule 2: a fault decides, the provider acts: every method returns a bend, a value.
Rule 3: a fault is *fair* when a provider that keeps its documented promises could do it.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_type_hints

from simulator.core.charges import Status
from simulator.core.messages import HttpReply, Seam, Until

if TYPE_CHECKING:
    from simulator.core.calls import Call
    from simulator.core.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Between:
    """The bounds of a numeric parameter, both allowed: ``Annotated[int, Between(1, 100)]``."""

    least: float
    most: float


# What can be done to a call.


@dataclass(frozen=True, slots=True)
class Hold:
    """Stop here until a condition comes true, then go on."""

    until: Until


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this error instead; before the commit, nothing happens at all.

    ``stored`` binds the answer to the idempotency key, so that every replay repeats it. It means
    nothing where no key is claimed: on receipt, and when the answer was a replay already.
    Without a ``status`` it is the one that the dialect has for this code.
    """

    status: int | None
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


@dataclass(frozen=True, slots=True)
class ForgetKeys:
    """Forget every idempotency key there is, those in flight too, and then go on."""


@dataclass(frozen=True, slots=True)
class Misreport:
    """Let a lookup show charges as they were ``lag_s`` ago, or in a ``status`` they are not in.

    A charge that did not exist then is not found. Calls that are no lookups go on as they are.
    """

    lag_s: float = 0.0
    status: Status | None = None


ReceiveBend = Hold | Answer | Break | IgnoreKey | ForgetKeys
CommitBend = Hold | Answer | Break | Decline | StayPending | Misreport
AnswerBend = Hold | Answer | Break | Rewrite
Bend = ReceiveBend | CommitBend | AnswerBend


# What can be done to the news of it.

Signature = Literal["right", "wrong", "missing", "old", "foreign"]
"""``wrong``: by a secret nobody has · ``foreign``: by that of another endpoint, if there is one ·
``old``: right, but of an instant long ago."""


@dataclass(frozen=True, slots=True)
class Guise:
    """How an event looks that is not told as it is. What is not given stays true.

    ``id`` is what it calls itself, ``status`` that of the charge which it shows, ``stale`` says
    that the charge is shown as it was before, ``renewed`` that the event is dated now, and
    ``padding_bytes`` are added to its body.
    """

    id: str | None = None
    type: str | None = None
    status: Status | None = None
    stale: bool = False
    renewed: bool = False
    padding_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Copies:
    """Send the event this many times: one after the other's acknowledgement, or all at once.

    ``gap_s`` is how much virtual time passes between an acknowledgement and the next copy.
    """

    count: int
    concurrent: bool = False
    gap_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the endpoint of further events made of this one, each under an id of its own.

    They go out together with it, after its acknowledgement, or before it.
    """

    guises: tuple[Guise, ...]
    place: Literal["together", "after", "before"] = "together"


@dataclass(frozen=True, slots=True)
class Tamper:
    """Send this attempt, but not as it should be: ill signed, in half, in a guise, or unheard.

    ``age_s`` is how old an ``old`` signature is, ``deaf_after_s`` when the connection is closed
    without hearing an answer, both in real seconds.
    """

    signature: Signature = "right"
    age_s: float = 0.0
    cut: bool = False
    guise: Guise | None = None
    deaf_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Postpone:
    """Send it ``delay_s`` of virtual time later, or once a later event of the order is told."""

    delay_s: float
    until_overtaken: bool = False


@dataclass(frozen=True, slots=True)
class Withhold:
    """Never tell this endpoint of this event; a resend is a new delivery."""


DeliveryBend = Copies | Emit | Tamper | Postpone | Withhold


Need = Literal["webhooks", "lookups", "upstream_keys"]
"""What not every caller does: listen for events, ask how a call went, send idempotency keys."""


class Fault:
    """Something that goes wrong at one or more seams; see ``simulator/faults`` for all of them."""

    __slots__ = ()

    name: ClassVar[str] = "fault"
    fair: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset()
    """What the caller must do, or it comes to nothing."""
    strikes_all: ClassVar[bool] = False
    """Whether it touches orders beside the one that it strikes."""

    def __init_subclass__(cls) -> None:
        """Name the fault as its file is named: ``LoseReply`` is ``lose_reply``."""
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        if cls.bends("on_delivery"):
            cls.needs |= {"webhooks"}

    def __post_init__(self) -> None:
        """Refuse a parameter that is out of its bounds. Raises ``ValueError``."""
        for name, bounds in self.bounds().items():
            value = getattr(self, name)
            if not bounds.least <= value <= bounds.most:
                raise ValueError(
                    f"{name} must be {bounds.least:g} to {bounds.most:g}, not {value!r}"
                )

    @classmethod
    @cache
    def bounds(cls) -> dict[str, Between]:
        """Return the bounds of the parameters that have any, by name."""
        return {
            name: each
            for name, hint in get_type_hints(cls, include_extras=True).items()
            for each in getattr(hint, "__metadata__", ())
            if isinstance(each, Between)
        }

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
