"""The bank thinks it over."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call, CreateCharge
from simulator.core.desk_calls import ConfirmIntent, CreateAndConfirmIntent
from simulator.core.faults import Between, Fault
from simulator.core.faults import StayPending as ThinkItOver


@dataclass(frozen=True, slots=True)
class StayPending(Fault):
    """A new charge is pending at first; the bank decides some virtual time later.

    Without a ``decline`` code it then approves.
    """

    for_ms: Annotated[int, Between(1, 2_592_000_000)] = 60_000
    decline: str | None = None

    def before_commit(self, call: Call) -> ThinkItOver | None:
        if not isinstance(call.params, CreateCharge | CreateAndConfirmIntent | ConfirmIntent):
            return None
        return ThinkItOver(self.for_ms / 1000, self.decline)
