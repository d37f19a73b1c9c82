"""How long an event may wait, so that nobody gives it up: by what the service file declares.

Rule 1: half of the shortest time after which somebody who waits for it would go on without it.
Rule 2: for a provider call that is the service. For all else it is whoever sent the request, and
        who would take a lease over.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from onecharge.engine.boundaries import ParkedCall
from onecharge.engine.parking import Parked
from onecharge.world.world import DELIVERY_TIMEOUT_S

if TYPE_CHECKING:
    from onecharge.engine.scope import Scope
    from onecharge.service_file import ServiceFile


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds: for provider calls, and for all else."""

    calls_s: float
    others_s: float

    @classmethod
    def of(cls, file: "ServiceFile", scope: "Scope") -> Self:
        """Return the patience that one service allows for in one scope."""
        declared = [file.timing.answers_within_s, DELIVERY_TIMEOUT_S]
        if file.provider.lease_s is not None and not scope.outlives_a_lease:
            declared.append(file.provider.lease_s)
        return cls(min([file.provider.timeout_s, *declared]) / 2, min(declared) / 2)

    def with_s(self, event: Parked) -> float:
        """Return for how long an event may wait."""
        return self.calls_s if isinstance(event, ParkedCall) else self.others_s
