"""What is parked besides statements: customers' requests, provider calls at each seam, webhooks.

Rule 1: a gate parks only while the parking is armed; then everything it stands at waits.
Rule 2: each customer and each delivery begins a chain of its own; a provider call belongs to the
        chain that made it (``chains.py``).
Rule 3: a webhook that waits has not left: no timeout of the provider's or the service's runs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Literal

from onecharge.engine.parking import Parking, Place, Standing
from simulator.core.deliveries import Attempt
from simulator.core.rules import Rule
from simulator.faults.hold import Hold
from simulator.gates import Gates, HeldCall
from simulator.server import Simulator

CLIENT: Final = "client"
WEBHOOK: Final = "webhook"

CallSeam = Literal["on_receive", "before_commit", "after_commit"]

SEAMS: Final[tuple[CallSeam, ...]] = ("on_receive", "after_commit")
"""Where a provider call waits: before its key is looked up, and when its answer is about to go."""

AT_MOST_MS: Final = 60_000
"""The simulator lets go of a call by itself only when the scheduler is long gone."""


class Stop:
    """An event of our own side that waits until it is released."""

    def __init__(
        self,
        parking: Parking,
        place: Place,
        order: str | None,
        on_release: Callable[[], None],
        standing: Standing,
    ) -> None:
        self.place: Final = place
        self.order: Final = order
        self.standing: Final = standing
        self._on_release = on_release
        self._parking = parking
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __repr__(self) -> str:
        return f"<Stop {self.place}>"

    def release(self) -> None:
        """Let it go on; once only."""
        if not self._gone.done():
            self._on_release()
            self._parking.leave(self)
            self._gone.set_result(None)

    async def wait(self) -> None:
        """Wait to be released. Whoever is cancelled meanwhile takes the event along."""
        try:
            await asyncio.shield(self._gone)
        finally:
            self.release()


def _nothing() -> None:
    return


async def stop(
    parking: Parking,
    lane: str,
    what: str,
    order: str | None = None,
    *,
    on_release: Callable[[], None] = _nothing,
    standing: Standing = "beginning",
) -> None:
    """Wait at a place until somebody lets it go on; not at all where nothing is armed.

    ``on_release`` is called once, in the same instant, however the wait ends.
    """
    if not parking.armed:
        on_release()
        return
    event = Stop(parking, parking.places.next(lane, what), order, on_release, standing)
    parking.park(event)
    await event.wait()


class ParkedCall:
    """A provider call which is held at a seam."""

    standing: Standing = "under way"

    def __init__(self, parking: Parking, gates: Gates, held: HeldCall) -> None:
        self._parking = parking
        self._gates = gates
        self._held = held
        lane = parking.chains.of(held.call, stays=True)
        self.place: Final = parking.places.next(lane, f"{held.operation} {held.seam}")
        self.order: Final = held.order
        self._released = False

    def __repr__(self) -> str:
        return f"<parked call {self.place}>"

    @property
    def operation(self) -> str:
        """What is asked of the provider."""
        return self._held.operation

    @property
    def first(self) -> bool:
        """Whether it is the first of its chain and has only just been received."""
        return self._held.seam == "on_receive" and self.place.nth == 1

    def release(self) -> None:
        if self._released:
            return
        self._released = True
        self._parking.leave(self)
        self._gates.release(self._held.call)


class ProviderGate:
    """Parks the calls that a service makes to the simulator."""

    def __init__(self, simulator: Simulator, parking: Parking) -> None:
        self._simulator = simulator
        self._parking = parking

    @staticmethod
    def rules(orders: Sequence[str], seams: Sequence[CallSeam] = SEAMS) -> list[Rule]:
        """Return the rules that hold every call about these orders; who parks arms them."""
        return [
            Rule(Hold(seam, "released", at_most_ms=AT_MOST_MS), f"park {seam}", orders=(*orders,))
            for seam in seams
        ]

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Park what is held for as long as the context lasts, and let it go on at its end."""
        gates = self._simulator.gates
        gates.on_park.append(self._park)
        try:
            yield
        finally:
            gates.on_park.remove(self._park)

    def _park(self, held: HeldCall) -> None:
        if held.until.condition != "released":
            return  # it waits for something else: a fault, and not ours
        if self._parking.armed:
            self._parking.park(ParkedCall(self._parking, self._simulator.gates, held))
        else:
            self._simulator.gates.release(held.call)


class WebhookGate:
    """Parks deliveries before they leave. ``under_way`` are those that left and have not ended."""

    def __init__(self, simulator: Simulator, parking: Parking) -> None:
        self.under_way = 0
        self._simulator = simulator
        self._parking = parking

    @property
    def moving(self) -> int:
        """How many attempts are due or under way, without those that are parked.

        An event is due the moment it is born; a little later it is parked here. Who looks in
        between must not take that for rest.
        """
        parked = sum(
            event.standing == "beginning" and event.place.lane.startswith(f"{WEBHOOK}:")
            for event in (*self._parking.parked(), *self._parking.forsaken)
        )
        return max(0, self._simulator.attempts_under_way() - parked)

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """Stand around every attempt that begins while the context lasts."""
        before = self._simulator.around_delivery
        self._simulator.around_delivery = self._around
        try:
            yield
        finally:
            self._simulator.around_delivery = before

    @asynccontextmanager
    async def _around(self, attempt: Attempt) -> AsyncIterator[None]:
        # Copies that are sent at once are told apart; what is sent in turn is one lane.
        lane = self._parking.places.lane(WEBHOOK, (attempt.delivery, attempt.copy))
        try:
            await stop(
                self._parking, lane, attempt.event.type, attempt.order, on_release=self._left
            )
            yield
        finally:
            self.under_way -= 1
            self._parking.stir()

    def _left(self) -> None:
        self.under_way += 1
