"""The bank says no."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Decline as SayNo
from simulator.core.faults import Fault


@dataclass(frozen=True, slots=True)
class Decline(Fault):
    """The bank refuses, which is a definite outcome: no money moves under this key, ever."""

    code: str = "insufficient_funds"

    def before_commit(self, call: Call) -> SayNo:
        return SayNo(self.code)
