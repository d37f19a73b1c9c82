"""The provider has had enough for now."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.calls import Call
from simulator.core.faults import Answer, Between, Fault


@dataclass(frozen=True, slots=True)
class RateLimit(Fault):
    """The provider answers 429 with ``Retry-After`` before it looks at anything."""

    retry_after_s: Annotated[int, Between(0, 86_400)] = 1

    def on_receive(self, call: Call) -> Answer:
        return Answer(429, "rate_limited", retry_after_s=self.retry_after_s)
