"""The provider fails after the charge has happened."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call
from simulator.core.faults import Answer, Between, Fault
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class ErrorAfterCommit(Fault):
    """The charge is committed, then the provider answers with an error.

    With ``stored`` every replay of the key repeats the error, as Stripe's does with a 500, and
    only a lookup tells the truth; without, a replay does.
    """

    status: Annotated[int, Between(400, 599)] = 500
    code: str = "internal_error"
    stored: bool = True

    def after_commit(self, call: Call, reply: HttpReply) -> Answer:
        return Answer(self.status, self.code, self.stored)
