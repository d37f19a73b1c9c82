"""The answer comes when nobody waits for it any more."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call
from simulator.core.faults import Between, Fault, Hold
from simulator.core.messages import HttpReply, Until


@dataclass(frozen=True, slots=True)
class LateAnswer(Fault):
    """The charge is committed at once and answered late, whether or not the caller has left."""

    delay_ms: Annotated[int, Between(0, 600_000)] = 2_000

    def after_commit(self, call: Call, reply: HttpReply) -> Hold:
        return Hold(Until("elapsed", self.delay_ms, at_most_ms=self.delay_ms + 1_000))
