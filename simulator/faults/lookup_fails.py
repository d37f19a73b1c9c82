"""Nobody can be asked what happened."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simulator.core.calls import LOOKUPS, Call
from simulator.core.faults import Answer, Between, Fault, Need


@dataclass(frozen=True, slots=True)
class LookupFails(Fault):
    """Reading or listing charges is answered with an error, which says nothing about them."""

    needs: ClassVar[frozenset[Need]] = frozenset({"lookups"})

    status: Annotated[int, Between(400, 599)] = 503
    code: str = "unavailable"

    def before_commit(self, call: Call) -> Answer | None:
        if call.operation not in LOOKUPS:
            return None
        return Answer(self.status, self.code)
