"""The provider forgets that it knows idempotency keys."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.calls import Call
from simulator.core.faults import Fault, IgnoreKey


@dataclass(frozen=True, slots=True)
class IgnoreKeys(Fault):
    """The provider executes every call as if it carried no key, and so breaks its word."""

    fair: ClassVar[bool] = False

    def on_receive(self, call: Call) -> IgnoreKey:
        return IgnoreKey()
