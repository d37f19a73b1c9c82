"""Nobody can be asked what happened."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call, ListCharges, ReadCharge
from simulator.core.faults import Answer, Between, Fault


@dataclass(frozen=True, slots=True)
class LookupFails(Fault):
    """Reading or listing charges is answered with an error, which says nothing about them."""

    status: Annotated[int, Between(400, 599)] = 503
    code: str = "unavailable"

    def before_commit(self, call: Call) -> Answer | None:
        if not isinstance(call.params, ReadCharge | ListCharges):
            return None
        return Answer(self.status, self.code)
