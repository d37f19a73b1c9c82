"""The charge happens and nobody says so."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class TimeOutAfterCommit(Fault):
    """The charge is committed, then the line stays open and silent until the caller gives up."""

    def after_commit(self, call: Call, reply: HttpReply) -> Break:
        return Break("silence")
