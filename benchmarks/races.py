"""Hard races: what the engine takes to find each, and how often plain parallel stress meets it.

Each race is one mistake of a real service (``tests/engine/services/``). The engine looks for it so
many times, each time from the beginning; the clock starts behind the clean control and includes
everything up to the first violation. Stress does what people do today, without gates, several
orders at a time: two requests at once over warm connections, and one again 5 ms after the other; a
provider that answers at once. It counts the orders that came out wrong.

``python benchmarks/races.py [--race NAME …] [--seconds 60] [--runs 10] [--json FILE]``; figures of
races that are not run stay in the file.
"""

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # the races are told in the words of the tests

from figures import Figures, arguments

from onecharge.engine.explorer import explored
from onecharge.engine.last_byte import Connections, warm_connections
from onecharge.history.recorder import Recorder
from onecharge.phases import announce
from onecharge.press import Order
from onecharge.world.customers import Customers
from onecharge.world.orders import family_of, orders_of
from onecharge.world.world import World
from tests.engine.races import RACES, SEED, Race, stage_of, world_of

WITHIN_S: Final = 5.0
STRESSES: Final = {"two at once": 0.0, "again 5 ms later": 0.005}
"""How much later the second request is sent, by what it is called."""
AT_ONCE: Final = 4
"""So many orders are stressed at a time."""
BATCH: Final = 500
_PATIENCE_S: Final = 20.0

Found = tuple[float, int]
"""After how many seconds and how many runs."""


async def found_by_the_engine(race: Race, runs: int) -> list[Found]:
    """Look for a race so many times, each time from the beginning; return when it was found."""
    with tempfile.TemporaryDirectory() as folder:
        async with world_of(race, Path(folder) / "run") as world:
            looked = [await _found_once(race, world, number) for number in range(1, runs + 1)]
    return [found for found in looked if found is not None]


async def _found_once(race: Race, world: World, number: int) -> Found | None:
    began_s = time.monotonic()

    def soon() -> bool:
        return time.monotonic() - began_s < 2 * WITHIN_S

    def later() -> bool:
        return time.monotonic() - began_s < 4 * WITHIN_S

    async with stage_of(race, world, number) as stage:
        result = await explored(stage.make, stage.coverage(), systematically=soon, by_chance=later)
        took_s = time.monotonic() - began_s
    if result.found is None or result.found.kind != race.kind:
        return None
    return took_s, result.found.after


async def stressed(race: Race, seconds: float) -> dict[str, tuple[int, int]]:
    """Return how many orders came out wrong under plain stress, and of how many, by its kind."""
    wrong = {}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            world_of(race, Path(folder) / "run", gated=False) as world,
            warm_connections(world.services.urls, "/sales/none") as connections,
        ):
            for how, later_s in STRESSES.items():
                stress = _Stress(race, world, connections, how, later_s)
                end_s = time.monotonic() + seconds
                await asyncio.gather(*(stress.press(end_s) for _ in range(AT_ONCE)))
                wrong[how] = stress.wrong, stress.orders
    return wrong


class _Stress:
    def __init__(
        self, race: Race, world: World, connections: Connections, how: str, later_s: float
    ) -> None:
        self.wrong = self.orders = 0
        self._race = race
        self._world = world
        self._connections = connections
        self._how = how.replace(" ", "-")
        self._later_s = later_s
        self._read_back = world.read_back
        self._recorder = Recorder()
        self._left = self._all_orders()

    async def press(self, end_s: float) -> None:
        """Press for one order after the other, twice each."""
        while time.monotonic() < end_s:
            order = next(self._left)
            customers = Customers.in_world(
                self._world, self._recorder, connections=self._connections
            )
            first = customers.press(order, _PATIENCE_S)
            await asyncio.gather(first, self._later(customers, order))
            self.orders += 1
            self.wrong += await self._is_wrong(order)

    async def _later(self, customers: Customers, order: Order) -> None:
        await asyncio.sleep(self._later_s)
        await customers.press(order, _PATIENCE_S)

    async def _is_wrong(self, order: Order) -> bool:
        real = self._world.simulator.real_charges(order.reference)
        if not self._race.webhooks:
            return len(real) > 1
        while self._world.simulator.undelivered([order.reference]):
            await asyncio.sleep(0.001)
        return ((await self._read_back.of(order)).effects or 0) > len(real)

    def _all_orders(self) -> Iterator[Order]:
        for number in itertools.count(1):
            label = f"stress-{self._how}-{number}"
            file = self._world.service_file
            orders = orders_of(file, label, BATCH, SEED)
            family = family_of(orders[0].reference)
            self._recorder = self._world.begin_histories({label: family})[label]
            announce(self._recorder, file, orders, scenario=label, fair=True, plan=[])
            yield from orders


async def measured(race: Race, runs: int, seconds: float, figures: Figures) -> None:
    """Measure one race and take it in."""
    name = f"races: {race.what}"
    found = await found_by_the_engine(race, runs)
    within = sum(took_s <= WITHIN_S for took_s, _ in found)
    figures.add(f"{name}: found by the engine in 5 s, of {runs}", within, "", f"{runs}")
    if found:
        figures.add(f"{name}: median", statistics.median(took_s for took_s, _ in found), "s")
        figures.add(f"{name}: slowest", max(took_s for took_s, _ in found), "s", "<= 5")
    took = ", ".join(f"{took_s:.2f} s after {after}" for took_s, after in found)
    print(f"{name}: engine: {took}", flush=True)
    for how, (wrong, orders) in (await stressed(race, seconds)).items():
        figures.add(f"{name}: {how}", 100 * wrong / max(1, orders), "%")
        print(f"{name}: {how}: {wrong} of {orders} orders in {seconds:g} s", flush=True)


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--race", action="append", choices=sorted(RACES), help="only this one")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    return parser.parse_args()


async def main() -> None:
    """Measure the races that were asked for."""
    asked = parsed()
    runs, seconds = (2, asked.seconds / 10) if asked.quick else (asked.runs, asked.seconds)
    figures = Figures("hard races: found by the engine, and by plain parallel stress")
    races = [RACES[name] for name in asked.race or RACES]
    for race in races:
        await measured(race, runs, seconds, figures)
    figures.show()
    if asked.json:
        figures.write(asked.json, keeping=True)


if __name__ == "__main__":
    asyncio.run(main())
