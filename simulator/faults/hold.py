"""A call stands still at a seam until something else has happened."""

from dataclasses import dataclass
from typing import Annotated, Literal

from simulator.core.calls import Call
from simulator.core.faults import Between, Fault
from simulator.core.faults import Hold as Stand
from simulator.core.messages import Condition, HttpReply, Seam, Until


@dataclass(frozen=True, slots=True)
class Hold(Fault):
    """The provider is slow at one point, until a condition comes true or time is up."""

    seam: Literal["on_receive", "before_commit", "after_commit"] = "before_commit"
    until: Condition = "elapsed"
    amount: Annotated[int, Between(0, 600_000)] = 0
    at_most_ms: Annotated[int, Between(0, 600_000)] = 10_000

    def on_receive(self, call: Call) -> Stand | None:
        return self._stand("on_receive")

    def before_commit(self, call: Call) -> Stand | None:
        return self._stand("before_commit")

    def after_commit(self, call: Call, reply: HttpReply) -> Stand | None:
        return self._stand("after_commit")

    def _stand(self, seam: Seam) -> Stand | None:
        if seam != self.seam:
            return None
        return Stand(Until(self.until, self.amount, self.at_most_ms))
