"""Customers: they press *Pay*, lose patience, press again, and write down what they were told.

Rule 1: a customer whose call ended unknown is retired; the order stays open and a new lane
        goes on with the same key.
Rule 2: customers never judge.
"""

import asyncio
import itertools
from collections.abc import Sequence

import aiohttp

from onecharge.history.outcomes import REFUSED
from onecharge.press import Heard, Order, Prepared, completion, invocation, prepared
from onecharge.scenario_file import Customer
from onecharge.service_file import ServiceFile
from simulator.core.journal import Sink


class Customers:
    """All customers of one scenario, over warm connections spread over the instances."""

    def __init__(
        self,
        service_file: ServiceFile,
        urls: Sequence[str],
        sink: Sink,
        session: aiohttp.ClientSession,
        *,
        lane: str = "",
    ) -> None:
        self._charge = service_file.charge
        self._urls = itertools.cycle(urls)
        self._sink = sink
        self._session = session
        self._lanes = (f"client:{lane}{number}" for number in itertools.count(1))

    async def pay(self, order: Order, customer: Customer) -> None:
        """Press *Pay* as the scenario's customers do, until a definite answer or resignation."""
        for attempt in range(customer.attempts):
            if attempt:
                await asyncio.sleep(customer.pause_ms / 1000)
            presses = customer.presses if attempt == 0 else 1
            await asyncio.gather(*(self.press(order, customer.timeout_s) for _ in range(presses)))
            if order.settled:
                return

    async def press(self, order: Order, timeout_s: float) -> None:
        """Send one charge request and record what the customer was told."""
        lane = next(self._lanes)
        url = next(self._urls)
        cause = self._sink(invocation(lane, order, url))
        heard = await send(self._session, url, prepared(self._charge, order.values()), timeout_s)
        self._sink(completion(lane, order, self._charge, heard, cause))


async def send(
    session: aiohttp.ClientSession, url: str, request: Prepared, timeout_s: float
) -> Heard:
    """Send a request and return what came back; an error is an answer as well."""
    try:
        async with session.request(
            request.method,
            url + request.path,
            data=request.body,
            headers=request.headers,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            allow_redirects=False,
        ) as answer:
            raw = await answer.read()
            status, retry_after = answer.status, "Retry-After" in answer.headers
    except TimeoutError:
        return Heard(error=f"no answer within {timeout_s:g} s")
    except aiohttp.ClientConnectorError:
        return Heard(error=REFUSED)
    except (aiohttp.ClientError, ConnectionError) as error:
        return Heard(error=str(error) or type(error).__name__)
    return Heard(status, raw.decode("utf-8", errors="replace"), retry_after)
