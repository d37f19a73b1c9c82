"""The news arrives before the answer."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simulator.core.calls import Call
from simulator.core.faults import Between, Fault, Hold, Need
from simulator.core.messages import HttpReply, Until


@dataclass(frozen=True, slots=True)
class DeliverBeforeReply(Fault):
    """The answer to the call waits until an endpoint has answered the event it caused."""

    needs: ClassVar[frozenset[Need]] = frozenset({"webhooks"})

    at_most_ms: Annotated[int, Between(0, 600_000)] = 10_000

    def after_commit(self, call: Call, reply: HttpReply) -> Hold:
        return Hold(Until("delivered", at_most_ms=self.at_most_ms))
