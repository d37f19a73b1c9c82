"""The provider takes one request for another."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.calls import Call
from simulator.core.faults import Answer, Fault, Need


@dataclass(frozen=True, slots=True)
class KeyMismatch(Fault):
    """The provider says that the key belongs to another request, though the body is the same.

    Unfair: providers promise a replay to who repeats himself word for word.
    """

    fair: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"upstream_keys"})

    def on_receive(self, call: Call) -> Answer | None:
        return None if call.key is None else Answer(None, "key_mismatch")
