"""Nothing happens and nobody says so."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault


@dataclass(frozen=True, slots=True)
class TimeOutBeforeCommit(Fault):
    """Nothing happens, and the line stays open and silent until the caller gives up."""

    def before_commit(self, call: Call) -> Break:
        return Break("silence")
