"""The charge happens and the answer makes no sense."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call
from simulator.core.faults import Between, Fault, Rewrite
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class GarbageReply(Fault):
    """The charge is committed, then something on the way answers 200 with a page of its own."""

    status: Annotated[int, Between(200, 599)] = 200
    content_type: str = "text/html"
    body: str = "<html><body>Please log in to the network</body></html>"

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if not (self.content_type.isascii() and self.content_type.isprintable()):
            raise ValueError("content_type must be printable ASCII")

    def after_commit(self, call: Call, reply: HttpReply) -> Rewrite:
        headers = (("content-type", self.content_type),)
        return Rewrite(HttpReply(self.status, headers, self.body.encode()))
