"""The charge happens and half of the answer arrives."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class CutReply(Fault):
    """The charge is committed, then the connection dies in the middle of the answer's body."""

    def after_commit(self, call: Call, reply: HttpReply) -> Break:
        return Break("cut")
