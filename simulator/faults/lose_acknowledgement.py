"""Nobody hears that the news has arrived."""

from dataclasses import dataclass
from typing import Annotated

from simulator.core.deliveries import Delivery
from simulator.core.faults import Between, Fault, Tamper


@dataclass(frozen=True, slots=True)
class LoseAcknowledgement(Fault):
    """The first attempts tell all, and the provider hangs up before it has heard an answer.

    A handler that takes longer than ``after_ms`` of real time is cut off in the middle of its work;
    a quicker one has done it, and its answer is lost. Either way the event comes again.
    """

    after_ms: Annotated[int, Between(1, 30_000)] = 50
    attempts: Annotated[int, Between(1, 100)] = 1

    def on_delivery(self, delivery: Delivery) -> Tamper | None:
        if delivery.attempts >= self.attempts:
            return None
        return Tamper(deaf_after_s=self.after_ms / 1000)
