"""Nobody is there."""

from dataclasses import dataclass

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault


@dataclass(frozen=True, slots=True)
class Refuse(Fault):
    """The connection is closed before anything is read, as by a provider that is down."""

    def on_receive(self, call: Call) -> Break:
        return Break("reset")
