"""Lookups do not tell the truth."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from simulator.core.calls import LOOKUPS, Call
from simulator.core.charges import Status
from simulator.core.faults import Fault, Misreport, Need


@dataclass(frozen=True, slots=True)
class LookupLies(Fault):
    """A charge is shown in a status that it is not in, or said not to be there at all."""

    fair: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"lookups"})

    lie: Literal["absent", "declined", "cancelled", "captured"] = "absent"

    def before_commit(self, call: Call) -> Misreport | None:
        if call.operation not in LOOKUPS:
            return None
        if self.lie == "absent":
            return Misreport(lag_s=float("inf"))
        return Misreport(status=Status(self.lie))
