"""Lookups show the past."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simulator.core.calls import LOOKUPS, Call
from simulator.core.faults import Between, Fault, Misreport, Need


@dataclass(frozen=True, slots=True)
class LookupLags(Fault):
    """Charges are shown as they were some virtual time ago: not at all, if they are younger.

    Unfair: "not found" is the licence to charge under a new key, so a lookup that lags breaks
    the promise on which a service recovers. A bound would not help: virtual time has none that
    a service could wait for.
    """

    fair: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"lookups"})

    lag_ms: Annotated[int, Between(1, 31_536_000_000)] = 5_000

    def before_commit(self, call: Call) -> Misreport | None:
        if call.operation not in LOOKUPS:
            return None
        return Misreport(lag_s=self.lag_ms / 1000)
