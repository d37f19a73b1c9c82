"""The provider takes its time, now more and now less."""

import math
from dataclasses import dataclass
from random import Random
from typing import Annotated, Literal, assert_never

from simulator.core.calls import Call
from simulator.core.faults import Between, Fault, Hold
from simulator.core.messages import HttpReply, Seam, Until


@dataclass(frozen=True, slots=True)
class Slow(Fault):
    """A call stands still at one seam for a time drawn at random: same seed, same call, same time.

    ``uniform`` is even between the two bounds. ``exponential`` is mostly short: its mean is a
    fifth of the way from ``min_ms`` to ``max_ms``. ``lognormal`` has a long tail: its median is
    their geometric mean, and the bounds are three deviations away. Neither leaves the bounds.
    """

    seam: Literal["on_receive", "before_commit", "after_commit"] = "before_commit"
    distribution: Literal["uniform", "exponential", "lognormal"] = "uniform"
    min_ms: Annotated[int, Between(0, 600_000)] = 0
    max_ms: Annotated[int, Between(0, 600_000)] = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if self.min_ms > self.max_ms:
            raise ValueError(f"min_ms must be at most max_ms, not {self.min_ms}")

    def on_receive(self, call: Call) -> Hold | None:
        return self._stand("on_receive", call)

    def before_commit(self, call: Call) -> Hold | None:
        return self._stand("before_commit", call)

    def after_commit(self, call: Call, reply: HttpReply) -> Hold | None:
        return self._stand("after_commit", call)

    def drawn_ms(self, chance: Random) -> int:
        """Return how long one call stands still."""
        low, high = self.min_ms, self.max_ms
        match self.distribution:
            case "uniform":
                drawn = chance.uniform(low, high)
            case "exponential":
                drawn = low + chance.expovariate(1) * (high - low) / 5
            case "lognormal":
                least, most = math.log(max(low, 1)), math.log(max(high, 1))
                drawn = chance.lognormvariate((least + most) / 2, (most - least) / 6)
            case _:
                assert_never(self.distribution)
        return round(min(max(drawn, low), high))

    def _stand(self, seam: Seam, call: Call) -> Hold | None:
        if seam != self.seam:
            return None
        amount_ms = self.drawn_ms(Random(f"{self.seed} {call.id} {call.key}"))
        return Hold(Until("elapsed", amount_ms, at_most_ms=amount_ms + 1_000))
