"""The charge happens and the answer makes no sense."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Fault, Rewrite
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class GarbageReply(Fault):
    """The charge is committed, then something on the way answers 200 with a page of its own."""

    status: int = 200
    content_type: str = "text/html"
    body: str = "<html><body>Please log in to the network</body></html>"

    def after_commit(self, call: Call, reply: HttpReply) -> Rewrite:
        headers = (("content-type", self.content_type),)
        return Rewrite(HttpReply(self.status, headers, self.body.encode()))
