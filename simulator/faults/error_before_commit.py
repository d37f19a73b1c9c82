"""The provider fails before anything has happened."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call
from simulator.core.faults import Answer, Between, Fault


@dataclass(frozen=True, slots=True)
class ErrorBeforeCommit(Fault):
    """The provider answers with an error and nothing has happened.

    ``stored`` binds the error to the key, so that only a new key can charge.
    """

    status: Annotated[int, Between(400, 599)] = 503
    code: str = "unavailable"
    stored: bool = False

    def before_commit(self, call: Call) -> Answer:
        return Answer(self.status, self.code, self.stored)
