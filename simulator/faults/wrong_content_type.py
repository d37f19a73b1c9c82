"""The charge happens and the answer says that it is something else."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Fault, Rewrite
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class WrongContentType(Fault):
    """The charge is committed and answered in full, under a content type that is not JSON's."""

    content_type: str = "text/plain"

    def __post_init__(self) -> None:
        if not (self.content_type.isascii() and self.content_type.isprintable()):
            raise ValueError("content_type must be printable ASCII")

    def after_commit(self, call: Call, reply: HttpReply) -> Rewrite:
        kept = [(name, value) for name, value in reply.headers if name != "content-type"]
        headers = (*kept, ("content-type", self.content_type))
        return Rewrite(HttpReply(reply.status, headers, reply.body))
