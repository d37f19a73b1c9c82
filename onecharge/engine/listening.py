"""Listening to a service while nothing is asked of it, to learn what it says of its own accord.

Rule 1: one request is held at the provider meanwhile, so that what is only said while somebody's
        request is under way (a lease that is renewed) is heard as well.
Rule 2: the request is held for less time than the service waits for its provider. If it goes on
        all the same, as on a machine that is too slow, nothing is learnt: it may be its own doing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from onecharge.engine.gates.gate import Gate
from onecharge.engine.parking import Parking

LISTEN_S: Final = 1.2
"""A little longer than what comes every second."""


async def learn_habits(
    parking: Parking,
    gates: Collection[Gate],
    press: Callable[[], Awaitable[object]],
    *,
    listen_s: float,
    patience_s: float,
) -> None:
    """Have all gates learn what passes them while one request is held at the provider.

    If none arrives there within ``patience_s``, what is heard then is learnt all the same.
    """
    _listen(gates)
    parking.arm()
    pressing = asyncio.ensure_future(press())
    try:
        await _arrival(parking, patience_s)
        _listen(gates)
        held = parking.parked()
        await asyncio.sleep(listen_s)
        if parking.parked() != held or (held and pressing.done()):
            _listen(gates)
    finally:
        for gate in gates:
            gate.habits.learn()
        parking.disarm()
        await pressing


def _listen(gates: Collection[Gate]) -> None:
    for gate in gates:
        gate.habits.listen()


async def _arrival(parking: Parking, within_s: float) -> None:
    """Wait until somebody waits for an event that is parked."""
    try:
        async with asyncio.timeout(within_s):
            seen = parking.changes
            while all(event.standing == "beginning" for event in parking.parked()):
                seen = await parking.changed(seen)
    except TimeoutError:
        return
