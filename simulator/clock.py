"""Virtual time: what the provider's schedules and retention run on.

Rule 1: virtual time starts at 0 and never goes back; it is real time, scaled, plus every advance.
Rule 2: nothing else is virtual. Signatures carry real time and holds last real milliseconds.
"""

import math
from collections.abc import Callable
from time import monotonic


class VirtualClock:
    """Seconds since the start, at ``time_scale`` virtual seconds per real one."""

    def __init__(
        self, time_scale: float = 1.0, *, real_now: Callable[[], float] = monotonic
    ) -> None:
        if not (math.isfinite(time_scale) and time_scale > 0):
            raise ValueError(f"time_scale must be a positive number, not {time_scale}")
        self.time_scale = time_scale
        self._real_now = real_now
        self._started_s = real_now()
        self._advanced_s = 0.0

    def __repr__(self) -> str:
        return f"<VirtualClock {self.now():.3f} s, {self.time_scale:g} per real second>"

    def now(self) -> float:
        """Return virtual seconds since the start."""
        return (self._real_now() - self._started_s) * self.time_scale + self._advanced_s

    def advance(self, seconds: float) -> None:
        """Move forward at once; time does not go back."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"the clock moves forward only, not by {seconds} seconds")
        self._advanced_s += seconds

    def real_seconds_until(self, virtual_s: float) -> float:
        """Return how long to sleep, in real seconds, until it is ``virtual_s``."""
        return max(0.0, (virtual_s - self.now()) / self.time_scale)

    def restart(self) -> None:
        """Begin again at 0, for a provider that begins again."""
        self._started_s = self._real_now()
        self._advanced_s = 0.0
