"""Who presses in one run of a scope, and what may go wrong with the first of them.

Rule 1: troubles strike the first press and what follows from it. Whoever had one presses again,
        with the same key, as a customer does who does not know how it went.
Rule 2: a customer who was told how it went presses no more.
"""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from onecharge.engine.boundaries import CLIENT
from onecharge.engine.course import Operation
from onecharge.engine.last_byte import Together
from onecharge.engine.moves import Move, dying, faults, hanging_up
from onecharge.engine.parking import Parked
from onecharge.engine.scope import Scope
from onecharge.press import Order
from onecharge.world.customers import Customers

if TYPE_CHECKING:
    from onecharge.world.world import World

FIRST: Final = f"{CLIENT}:1"


class Presses:
    """The operations of one run, and the moves that can be made in it.

    Where there is ``together``, the last bytes of all presses leave together.
    """

    def __init__(
        self,
        world: "World",
        scope: Scope,
        customers: Customers,
        order: Order,
        together: Together | None = None,
    ) -> None:
        self._world = world
        self._scope = scope
        self._customers = customers
        self._order = order
        self._together = together
        self._leave = asyncio.Event()
        self._over = asyncio.Event()
        self._died = False

    def operations(self) -> list[Operation]:
        """Return who presses: so many as the scope says, and whoever had trouble once more."""
        presses = range(1, self._scope.presses + 1)
        operations = [self._operation(number) for number in presses]
        if self._scope.troubles:
            operations.append(self._operation(self._scope.presses + 1, again=True))
        return operations

    def moves(self, event: Parked) -> Iterator[Move]:
        """Yield what can be done with an event but to let it go on."""
        if event.place.lane != FIRST or event.standing != "under way":
            return
        if self._scope.troubles:
            yield from faults(event, self._world.simulator)
            if not self._over.is_set():
                yield hanging_up(self._leave.set)
        if self._scope.deaths:
            yield dying(self._die)

    def _operation(self, number: int, *, again: bool = False) -> Operation:
        file = self._world.service_file
        return Operation(
            f"{CLIENT}:{number}",
            f"{file.charge.method} {file.charge.path}",
            self._press_first if number == 1 else self._press,
            self._order.reference,
            0.0 if again else self._scope.waits_s(number, file),
            self._open_after_all if again else None,
        )

    async def _press_first(self) -> None:
        try:
            await self._press(self._leave)
        finally:
            self._over.set()

    async def _press(self, leave: asyncio.Event | None = None) -> None:
        within_s = self._world.service_file.timing.answers_within_s
        if self._together is None:
            await self._customers.press(self._order, within_s, leave=leave)
            return
        with self._together.joined() as last_byte:
            await self._customers.press(self._order, within_s, leave=leave, last_byte=last_byte)

    async def _open_after_all(self) -> bool:
        """Wait for the end of the first press, and tell whether its customer knows how it went."""
        await self._over.wait()
        return not self._order.settled and not self._died

    def _die(self) -> None:
        """Leave everything as it is: the service will be killed so, with others (``deaths.py``)."""
        self._died = True
        self._world.parking.forsake()
