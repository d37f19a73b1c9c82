"""The last byte: requests that are complete at the same instant, over connections that are warm.

Across a network, requests that leave together arrive apart: one opens a connection, one is longer
on its way. So all but the last byte of each is sent before, over connections that are open, and
then the last bytes together: nobody is served before everybody is about to be.

Rule 1: who joins in the same instant leaves together: when the last is on its way, and what was
        sent has had the time to arrive, as long as a whole request took before.
Rule 2: who fails on the way, or has nothing to keep back, holds nobody up.
Rule 3: there are at least eight connections, and every press takes the next: a service of several
        processes gives each of its connections to one of them, and two may be the same one's. At
        one address there are nine, so that two presses are not always made by the same two.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Final

import aiohttp

CONNECTIONS: Final = 9
"""At least so many are kept open."""

_KEPT_S: Final = 3_600.0
_WARM_WITHIN_S: Final = 5.0


class LastByte:
    """The last byte of one request, which is kept back until those beside it are on their way."""

    def __init__(self, together: "Together") -> None:
        self._together = together
        self._arrived = False

    async def body(self, whole: bytes) -> AsyncIterator[bytes]:
        """Yield a request's body, and wait before its last byte."""
        if len(whole) > 1:
            yield whole[:-1]
        await self.wait()
        yield whole[-1:]

    async def wait(self) -> None:
        """Wait until everybody who joined is as far as this."""
        gone = self._together.gone
        self.done()
        await gone.wait()

    def done(self) -> None:
        """Hold nobody up any more."""
        if not self._arrived:
            self._arrived = True
            self._together.one_less()


class Together:
    """Those whose last bytes leave together. ``pause_s`` is how long the rest takes to arrive."""

    def __init__(self, pause_s: float) -> None:
        self.gone = asyncio.Event()
        self._pause_s = pause_s
        self._awaited = 0

    def __repr__(self) -> str:
        return f"<Together, {self._awaited} awaited>"

    @contextmanager
    def joined(self) -> Iterator[LastByte]:
        """Join, and have one's last byte kept back."""
        self._awaited += 1
        last_byte = LastByte(self)
        try:
            yield last_byte
        finally:
            last_byte.done()

    def one_less(self) -> None:
        """Let all of them go if nobody is awaited any more; who joins from now on waits anew."""
        self._awaited -= 1
        if not self._awaited:
            asyncio.get_running_loop().call_later(self._pause_s, self.gone.set)
            self.gone = asyncio.Event()


Connection = tuple[str, aiohttp.ClientSession]
"""An address, and a session that keeps one connection to it."""


class Connections:
    """Open connections to a service, in turn and without end.

    ``took_s`` is how long the slowest of them took to be opened and to answer.
    """

    def __init__(self, connections: Sequence[Connection], took_s: float) -> None:
        self.took_s = took_s
        self._turns = itertools.cycle(connections)

    def __iter__(self) -> Iterator[Connection]:
        return self

    def __next__(self) -> Connection:
        return next(self._turns)


@asynccontextmanager
async def warm_connections(
    urls: Sequence[str], ready: str, number: int = CONNECTIONS
) -> AsyncIterator[Connections]:
    """Yield open connections to the instances of a service, as many to each of them.

    ``ready`` is the path that is asked to open one.
    """
    each = -(-number // len(urls))
    async with AsyncExitStack() as stack:
        lines = [
            (url, await stack.enter_async_context(_session())) for _ in range(each) for url in urls
        ]
        took_s = await asyncio.gather(*(_warm(session, url + ready) for url, session in lines))
        yield Connections(lines, max(took_s))


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S),
        cookie_jar=aiohttp.DummyCookieJar(),  # each customer keeps cookies of its own
    )


async def _warm(session: aiohttp.ClientSession, url: str) -> float:
    """Ask anything, so that the connection is there; return how long that took.

    Who does not answer is met again later.
    """
    began_s = time.monotonic()
    timeout = aiohttp.ClientTimeout(total=_WARM_WITHIN_S)
    with suppress(aiohttp.ClientError, TimeoutError):
        async with session.get(url, timeout=timeout) as answer:
            await answer.read()
    return time.monotonic() - began_s
