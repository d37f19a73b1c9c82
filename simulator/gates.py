"""Held calls: what each one waits for, and who let it go on.

Rule 1: the machine says *that* a call is held; this file decides *when* it goes on.
Rule 2: parking and releasing are synchronous. Whoever returns from ``release`` knows that the
        call has gone on; whoever is in ``on_park`` runs before anything else moves.
Rule 3: every hold ends. The condition that does not come true in ``at_most_ms`` is released
        with the reason ``cap``, so that a wrong plan costs seconds and not a run.
Rule 4: holds last real time. Virtual time moves schedules, not races.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

from simulator.core.messages import Seam, Until

Reason = Literal[
    "elapsed",
    "arrived",
    "caller_gone",
    "delivered",
    "quiet",
    "cap",  # the condition did not come true in time
    "control",  # by hand, over HTTP
    "released",  # by the harness
    "disarmed",  # the faults are over
    "reset",
    "shutdown",
]

SEAMS_IN_ORDER: Final[tuple[Seam, ...]] = (
    "on_receive",
    "before_commit",
    "after_commit",
    "on_delivery",
)


@dataclass(slots=True, eq=False)
class HeldCall:
    """A call which stands still, and what is known of it."""

    call: str
    seam: Seam
    until: Until
    operation: str = "unknown"
    account: str | None = None
    order: str | None = None
    source: str = ""
    parked_at_s: float = 0.0
    caller_gone: bool = False
    arrivals: set[str] = field(default_factory=set)
    timers: list[asyncio.TimerHandle] = field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        return (
            f"<HeldCall {self.call} {self.operation} at {self.seam} until {self.until.condition}>"
        )

    def wants_the_same_as(self, operation: str, order: str | None) -> bool:
        """Tell whether another call asks for the same thing."""
        return (self.operation, self.order) == (operation, order)

    def is_reached_by(self, other: "HeldCall") -> bool:
        """Tell whether ``other`` stands at the seam of this call or at a later one."""
        return SEAMS_IN_ORDER.index(other.seam) >= SEAMS_IN_ORDER.index(self.seam)


class Gates:
    """All calls that are held now. ``resume`` is what makes one go on."""

    def __init__(self, resume: Callable[[HeldCall, Reason], None]) -> None:
        self.on_park: list[Callable[[HeldCall], None]] = []
        self._resume = resume
        self.parked: dict[str, HeldCall] = {}  # by call, longest first; written here only
        self._moved_at_s = 0.0

    def held(self) -> list[HeldCall]:
        """Return what is parked, longest first."""
        return list(self.parked.values())

    def park(self, held: HeldCall) -> None:
        """Hold a call until its condition comes true, which may be at once."""
        assert held.call not in self.parked
        loop = asyncio.get_running_loop()
        held.parked_at_s = loop.time()
        held.arrivals.add(held.call)
        self.parked[held.call] = held
        held.timers.append(
            loop.call_later(held.until.at_most_ms / 1000, self._release, held, "cap")
        )
        self.moved()
        for callback in tuple(self.on_park):
            callback(held)
        if self._is_held(held):
            self._meet(held)
        if self._is_held(held):
            self._start_waiting(held, loop)

    def release(self, call: str, reason: Reason = "released") -> bool:
        """Let one call go on; False when it is not held (any more)."""
        held = self.parked.get(call)
        return held is not None and self._release(held, reason)

    def release_all(self, reason: Reason = "released") -> int:
        """Let everything go on, longest held first, also what is held again on the way."""
        count = 0
        while self.parked:
            count += self._release(next(iter(self.parked.values())), reason)
        return count

    def moved(self) -> None:
        """Note that something happened, so that it is not quiet to who is held."""
        if self.parked:
            self._moved_at_s = asyncio.get_running_loop().time()

    def passed(self, call: str, operation: str, order: str | None) -> None:
        """Note a call which is past every seam."""
        if not self.parked:
            return
        for held in self.held():
            if held.wants_the_same_as(operation, order):
                held.arrivals.add(call)
                self._release_if_enough(held)

    def caller_left(self, call: str) -> None:
        """Note that nobody waits for the answer to ``call`` any more."""
        held = self.parked.get(call)
        if held is None:
            return
        held.caller_gone = True
        if held.until.condition == "caller_gone":
            self._release(held, "caller_gone")

    def delivered(self, account: str, order: str | None) -> None:
        """Note that an endpoint has answered an attempt to tell it of this order."""
        for held in self.held():
            if held.until.condition == "delivered" and (held.account, held.order) == (
                account,
                order,
            ):
                self._release(held, "delivered")

    def _meet(self, newcomer: HeldCall) -> None:
        """Let calls that ask for the same thing count each other."""
        for held in self.held():
            if held is newcomer or not held.wants_the_same_as(newcomer.operation, newcomer.order):
                continue
            if held.is_reached_by(newcomer):
                held.arrivals.add(newcomer.call)
            if newcomer.is_reached_by(held):
                newcomer.arrivals.add(held.call)
            self._release_if_enough(held)

    def _start_waiting(self, held: HeldCall, loop: asyncio.AbstractEventLoop) -> None:
        match held.until.condition:
            case "released" | "delivered":
                pass  # somebody will say so
            case "arrived":
                self._release_if_enough(held)
            case "caller_gone":
                if held.caller_gone:
                    self._release(held, "caller_gone")
            case "elapsed":
                held.timers.append(
                    loop.call_later(held.until.amount / 1000, self._release, held, "elapsed")
                )
            case "quiet":
                self._release_if_quiet(held, loop)
            case _:
                assert_never(held.until.condition)

    def _release_if_enough(self, held: HeldCall) -> None:
        if held.until.condition == "arrived" and len(held.arrivals) >= held.until.amount:
            self._release(held, "arrived")

    def _release_if_quiet(self, held: HeldCall, loop: asyncio.AbstractEventLoop) -> None:
        """Release, or look again when it can be quiet.

        A release moves something, so of several quiet holds one goes on at a time.
        """
        if not self._is_held(held):
            return
        silent_until_s = self._moved_at_s + held.until.amount / 1000
        if loop.time() >= silent_until_s:
            self._release(held, "quiet")
        else:
            held.timers.append(loop.call_at(silent_until_s, self._release_if_quiet, held, loop))

    def _release(self, held: HeldCall, reason: Reason) -> bool:
        if not self._is_held(held):
            return False
        del self.parked[held.call]
        for timer in held.timers:
            timer.cancel()
        held.timers.clear()
        self.moved()
        self._resume(held, reason)
        return True

    def _is_held(self, held: HeldCall) -> bool:
        """Tell whether this very hold still stands: a call can be held again at a later seam."""
        return self.parked.get(held.call) is held
