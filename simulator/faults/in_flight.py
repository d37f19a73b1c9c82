"""The provider is busy with a request that there is not."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from simulator.core.calls import Call
from simulator.core.faults import Answer, Between, Fault, Need


@dataclass(frozen=True, slots=True)
class InFlight(Fault):
    """The provider says that the key is in flight, though nothing is: a lock outlived its call.

    It says so before it looks at anything, so nothing is known of what happened under the key.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"upstream_keys"})

    retry_after_s: Annotated[int, Between(0, 86_400)] = 1

    def on_receive(self, call: Call) -> Answer | None:
        if call.key is None:
            return None
        return Answer(None, "key_in_flight", retry_after_s=self.retry_after_s)
