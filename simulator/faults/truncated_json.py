"""The charge happens and the answer stops half-way."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Fault, Rewrite
from simulator.core.messages import HttpReply


@dataclass(frozen=True, slots=True)
class TruncatedJson(Fault):
    """The charge is committed, then a complete HTTP answer carries half of its JSON."""

    def after_commit(self, call: Call, reply: HttpReply) -> Rewrite:
        half = reply.body[: len(reply.body) // 2]
        return Rewrite(HttpReply(reply.status, reply.headers, half))
