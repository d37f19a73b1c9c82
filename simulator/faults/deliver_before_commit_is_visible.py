"""The news arrives while nobody can look up what it tells of."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simulator.core.calls import LOOKUPS, Call
from simulator.core.faults import Between, Fault, Hold, Misreport, Need
from simulator.core.messages import HttpReply, Until


@dataclass(frozen=True, slots=True)
class DeliverBeforeCommitIsVisible(Fault):
    """The event is sent at once, before the answer, and for a while a lookup finds no charge.

    The rule has to cover both: leave its ``operation`` at ``*``. Unfair, as every lookup that
    does not tell the truth.
    """

    fair: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"webhooks"})

    invisible_ms: Annotated[int, Between(1, 86_400_000)] = 1_000
    at_most_ms: Annotated[int, Between(0, 600_000)] = 10_000

    def before_commit(self, call: Call) -> Misreport | None:
        if call.operation not in LOOKUPS:
            return None
        return Misreport(lag_s=self.invisible_ms / 1000)

    def after_commit(self, call: Call, reply: HttpReply) -> Hold | None:
        if call.operation in LOOKUPS:
            return None
        return Hold(Until("delivered", at_most_ms=self.at_most_ms))
