"""Gets an order ready to be pressed: the steps of ``[[prepare]]`` and the ``headers_command``.

An order is prepared once, however many presses wait for it, and again when the service has
forgotten its customer.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator

import aiohttp

from onecharge.preparing import headers_printed, step_begins, step_ends
from onecharge.press import Order
from onecharge.service_file import ServiceFile
from onecharge.world.commands import CommandFailed, Commands
from onecharge.world.sending import send
from simulator.core.journal import Sink


class Preparations:
    """What stands before the first press of every order."""

    def __init__(
        self,
        service_file: ServiceFile,
        urls: Iterator[str],
        sink: Sink,
        session: aiohttp.ClientSession,
        commands: Commands,
    ) -> None:
        self._file = service_file
        self._urls = urls
        self._sink = sink
        self._session = session
        self._commands = commands
        self._busy: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def ready(self, order: Order, lane: str, timeout_s: float) -> bool:
        """Make an order ready; tell whether it is. If not, ``order.trouble`` says why."""
        if not (self._file.prepare or self._file.headers_command):
            return True
        async with self._busy[order.reference]:
            if not order.prepared:
                order.prepared = await self._signed(order, timeout_s) and await self._through(
                    order, lane, timeout_s
                )
            return order.prepared

    async def _signed(self, order: Order, timeout_s: float) -> bool:
        """Have the headers of an order made, unless it has them."""
        command = self._file.headers_command
        if not command or order.headers:
            return True
        try:
            printed = await self._commands.output(command, timeout_s, order.values())
            order.headers = headers_printed(printed)
        except (CommandFailed, ValueError) as error:
            order.trouble = f"headers_command: {error}"
            return False
        return True

    async def _through(self, order: Order, lane: str, timeout_s: float) -> bool:
        order.trouble = None
        for number, step in enumerate(self._file.prepare, start=1):
            url = next(self._urls)
            cause = self._sink(step_begins(lane, order, number, step, url))
            heard = await send(self._session, url, order.request(step), timeout_s)
            self._sink(step_ends(lane, order, number, step, heard, cause=cause))
            if order.trouble is not None:
                return False
        return True
