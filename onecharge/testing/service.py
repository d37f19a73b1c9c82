"""A team's own service, started as its service file says, with the simulator as its provider.

Rule 1: the same world as ``onecharge verify`` builds: processes, a database, instances.
Rule 2: it is started once and used by many tests; each test takes orders of its own.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from onecharge.history.records import Record
from onecharge.press import Order
from onecharge.service_file import read_service_file
from onecharge.testing.loop_thread import LoopThread, loop_thread
from onecharge.testing.provider import RunningProvider
from onecharge.world.customers import Customers
from onecharge.world.orders import orders_of
from onecharge.world.world import World, standing


class RunningService:
    """The service, up and ready, in its ``world``; ``provider`` is what it calls."""

    def __init__(self, world: World, loop: LoopThread, seed: int) -> None:
        self.file = world.service_file
        self.provider = RunningProvider(world.simulator, loop)
        self._world = world
        self._loop = loop
        self._seed = seed
        self.begin("tests")

    def __repr__(self) -> str:
        return f"<RunningService {self.file.service.name} at {self.url}>"

    @property
    def url(self) -> str:
        """Where its first instance listens."""
        return self.urls[0]

    @property
    def urls(self) -> list[str]:
        """Where its instances listen."""
        return self._world.services.urls

    @property
    def history(self) -> list[Record]:
        """What was seen since the test began: customers, provider, webhooks and processes."""
        return list(self._world.recorder.records)

    def begin(self, name: str) -> None:
        """Begin a test: nothing goes wrong yet, whoever was killed runs again, a new history."""
        self.provider.heal()
        self.provider.plan()
        self._name, self._orders = name, 0
        self._loop.call(lambda: self._world.begin_history(name))
        self._loop.run(self._world.services.start())

    def order(self, *, amount_minor: int | None = None) -> Order:
        """Return an order nobody has paid yet, with a reference, a key and a customer of its own.

        Equal test names make equal orders. The amount is in minor units.
        """
        self._orders += 1
        mark = self._world.mark
        order = orders_of(self.file, self._name, self._orders, self._seed, mark=mark)[-1]
        return order if amount_minor is None else replace(order, amount_minor=amount_minor)

    def pay(
        self, order: Order, *, presses: int = 1, timeout_s: float | None = None
    ) -> list[Record]:
        """Press *Pay*, several times at once if asked to, and return what each press was told.

        The records are answers: ``record.value["outcome"]``, ``["status"]`` and ``["body"]``.
        """
        before = len(self._world.recorder.records)
        self._loop.run(self._press(order, presses, timeout_s))
        return [
            record
            for record in self.history[before:]
            if record.what == "answer" and record.order == order.reference
        ]

    def kill(self, instance: int = 1) -> None:
        """Kill an instance with SIGKILL, counted from 1."""
        self._loop.call(lambda: self._world.services.kill(f"service-{instance}"))

    def restart(self, instance: int = 1) -> None:
        """Start a killed instance again and wait until it is ready."""
        self._loop.run(self._world.services.restart(f"service-{instance}"))

    async def _press(self, order: Order, presses: int, timeout_s: float | None) -> None:
        world = self._world
        customers = Customers.in_world(world, world.sink)
        within_s = timeout_s or self.file.timing.answers_within_s
        await asyncio.gather(*(customers.press(order, within_s) for _ in range(presses)))


@contextmanager
def running_service(
    file: Path, folder: Path, *, seed: int = 1, server_url: str | None = None
) -> Iterator[RunningService]:
    """Run the service of a service file, as long as the context lasts.

    ``folder`` gets logs and histories. ``server_url`` names a PostgreSQL server to use instead of
    an embedded one. Raises ``FileError``, ``NotReady`` or ``PostgresError``, each with one clear
    sentence.
    """
    service_file = read_service_file(file)
    stack = AsyncExitStack()
    world = standing(service_file, folder, seed=seed, server_url=server_url)
    with loop_thread("onecharge-service") as loop:
        try:
            yield RunningService(loop.run(stack.enter_async_context(world)), loop, seed)
        finally:
            loop.run(stack.aclose())
