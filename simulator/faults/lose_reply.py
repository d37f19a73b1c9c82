"""The charge happens and the connection is reset."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class LoseReply(Fault):
    """The charge is committed, then the connection dies before a byte of the answer arrives."""

    def after_commit(self, call: Call, reply: HttpReply) -> Break:
        return Break("reset")
