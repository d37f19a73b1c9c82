"""Late probes: a second request around the measured end of the first, where no store can be held.

Some races are lost only by a request that comes in the last moments of another one: when its claim
has gone and its result is not there yet. Where the service's store has no gate, nothing can be
held at that place. So it is swept: the provider's calls are let go at once, and a second request
follows one of them after a part of the time that the service took for what came next.

Rule 1: how long it takes is measured before, and again in every run; a probe is a part of that,
        never a number of milliseconds. So a sweep means the same on a slow machine. It begins
        before the event: who leaves together with an answer comes after what the answer leads to.
Rule 2: a provider that is quick and one that is slow are both part of it: a hold can hide a race.
Rule 3: the machine decides what comes first. Every run is a sample, and counted as one.
Rule 4: the boring choice is a second request after the first was answered.
Rule 5: where a store has a gate, there are events enough to follow: a second request comes right
        behind one of them, and how quick the store is, is part of the sweep as well. Webhooks
        leave when both were answered: beside them it could not be told whose an event is.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from statistics import median
from typing import Final, Self

from onecharge.engine.boundaries import WEBHOOK
from onecharge.engine.course import Course, Operation
from onecharge.engine.paces import ALL, PROVIDER, SLOW_STORE_S, Paces
from onecharge.engine.parking import Parked, Parking
from onecharge.engine.tapes.chooser import PROBE, Boring, Chooser

PARTS: Final = 16
"""So many steps a sweep has from an event to what follows it."""

_MEASURED: Final = 3
_REMEMBERED: Final = 9


class LateProbes:
    """Makes runs of two operations, the second so long after an event of the first.

    ``parts`` is how many steps there are to the next event, 0 for none but the event itself.
    ``paced`` is what may be quick or slow, ``store_s`` how slow a store is then.
    """

    def __init__(
        self,
        parking: Parking,
        *,
        parts: int = PARTS,
        paced: Collection[str] = (PROVIDER,),
        store_s: float = 0.0,
    ) -> None:
        self.paced = paced
        self.store_s = store_s
        self._parking = parking
        self._parts = parts
        self._took: dict[str, deque[float]] = {}
        self._anchors: tuple[str, ...] = ()
        self._measured = 0

    @classmethod
    def beside_a_gate(cls, parking: Parking, patience_s: float) -> Self:
        """Return those of rule 5; nothing that is slow takes longer than ``patience_s``."""
        return cls(parking, parts=0, paced=ALL, store_s=min(SLOW_STORE_S, patience_s))

    def __repr__(self) -> str:
        return f"<LateProbes behind {len(self._anchors)} events>"

    @property
    def measured(self) -> bool:
        """Whether it is known how long everything takes."""
        return self._measured >= _MEASURED

    async def measure(self, first: Operation, second: Operation) -> None:
        """Make a plain run, and take in how long it was from one event to the next."""
        await self.run(first, second, Boring())
        self._measured += 1
        self._anchors = tuple(self._took)

    async def run(self, first: Operation, second: Operation, chooser: Chooser) -> Course:
        """Run both to their ends; the second leaves where the chooser says."""
        probe = _Probe(self, self._parking, first, second, chooser)
        self._parking.arm()
        try:
            return await probe.run()
        finally:
            self._parking.disarm()
            await probe.end()

    def offers(self, event: Parked) -> bool:
        """Tell whether an event goes on while the requests are under way."""
        return bool(self._parts) or not event.place.lane.startswith(f"{WEBHOOK}:")

    def alternatives(self, event: str, lane: str) -> list[str]:
        """Return what may follow an event, the boring alternative first."""
        if event not in self._anchors:
            return [event]
        if not self._parts:
            return [event, f"{lane} right behind {event}"]
        parts = range(self._parts + 1)
        return [event, *(f"{lane} {part}/{self._parts} around {event}" for part in parts)]

    def after_s(self, event: str, index: int) -> float:
        """Return how long after an event an alternative lets the second request go.

        Below zero it goes before: by so much at most as a request is on its way to the provider.
        """
        if not self._parts:
            return 0.0
        before_s = 0.0 if event == self._anchors[0] else median(self._took[self._anchors[0]])
        span_s = before_s + median(self._took[event])
        return span_s * (index - 1) / self._parts - before_s

    def took(self, event: str, seconds: float) -> None:
        """Take in how long it was until the next event, or until the answer."""
        self._took.setdefault(event, deque(maxlen=_REMEMBERED)).append(seconds)


class _Probe:
    """One run."""

    def __init__(
        self,
        probes: LateProbes,
        parking: Parking,
        first: Operation,
        second: Operation,
        chooser: Chooser,
    ) -> None:
        self._probes = probes
        self._parking = parking
        self._first = first
        self._second = second
        self._chooser = chooser
        self._tasks: list[asyncio.Task[object]] = []
        self._timers: list[asyncio.TimerHandle] = []
        self._known: set[int] = set()
        self._course = Course(swept=True)
        self._last: tuple[str, float] | None = None
        self._paces = Paces(frozenset(), 0.0)

    async def run(self) -> Course:
        self._paces = Paces.chosen(self._chooser, self._probes.paced, self._probes.store_s)
        self._parking.chains.moves(self._first.lane)
        self._follow(f"{self._first.lane} {self._first.what} #1", lambda: self._begin(self._first))
        seen = -1
        while not self._answered_both():
            if self._tasks[0].done() and len(self._tasks) == 1:
                self._measure()
                self._cancel_timers()  # it took less than was measured: nothing is left to wait for
                self._begin(self._second)
            for event in self._parking.parked():
                if self._probes.offers(event):
                    self._let_go(event)
            seen = await self._parking.changed(seen)
        return self._course

    async def end(self) -> None:
        """Leave nothing behind."""
        self._cancel_timers()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _under_way(self) -> bool:
        """Whether the second request has left, or will."""
        return bool(self._timers) or len(self._tasks) > 1

    def _answered_both(self) -> bool:
        return len(self._tasks) > 1 and all(task.done() for task in self._tasks)

    def _let_go(self, event: Parked) -> None:
        """Let an event go on, at once or as slowly as it was chosen."""
        if id(event) in self._known:
            return
        self._known.add(id(event))
        self._measure()

        def go_on(lets: Callable[[], None]) -> None:
            self._follow(str(event.place), lambda: self._lets(event, lets))

        self._paces.let_go(event, self._parking, go_on)

    def _lets(self, event: Parked, lets: Callable[[], None]) -> None:
        self._known.discard(id(event))
        lets()

    def _follow(self, name: str, go_on: Callable[[], None]) -> None:
        """Let an event go on, and the second request after it, if that is chosen."""
        index = 0
        if not self._under_way():
            names = self._probes.alternatives(name, self._second.lane)
            index = self._chooser.choose(PROBE, names) if len(names) > 1 else 0
            self._course.releases.append(names[index])
        loop = asyncio.get_running_loop()
        after_s = self._probes.after_s(name, index) if index else 0.0
        if after_s < 0:
            self._begin(self._second)
            self._timers.append(loop.call_later(-after_s, go_on))
            return
        go_on()
        self._last = (name, loop.time())
        if index:
            self._timers.append(loop.call_later(after_s, self._begin, self._second))

    def _measure(self) -> None:
        """Take in how long it was since the last event, if only the first was under way."""
        if self._last is not None and len(self._tasks) == 1:
            name, at_s = self._last
            self._probes.took(name, asyncio.get_running_loop().time() - at_s)
        self._last = None

    def _begin(self, operation: Operation) -> None:
        task: asyncio.Task[object] = asyncio.ensure_future(operation.begin())
        task.add_done_callback(lambda _: self._parking.stir())
        self._tasks.append(task)
