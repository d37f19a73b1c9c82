"""The connection is reset and nothing has happened."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault


@dataclass(frozen=True, slots=True)
class ResetBeforeCommit(Fault):
    """The connection dies before anything has happened, which the caller cannot know."""

    def before_commit(self, call: Call) -> Break:
        return Break("reset")
