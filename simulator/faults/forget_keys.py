"""The provider's key store is restarted."""

from dataclasses import dataclass
from typing import ClassVar

from simulator.core.calls import Call
from simulator.core.faults import Fault
from simulator.core.faults import ForgetKeys as Forget


@dataclass(frozen=True, slots=True)
class ForgetKeys(Fault):
    """The provider forgets every key it knew, those in flight too, just before this call.

    Unfair: keys are promised for their whole retention.
    """

    fair: ClassVar[bool] = False
    strikes_all: ClassVar[bool] = True

    def on_receive(self, call: Call) -> Forget:
        return Forget()
