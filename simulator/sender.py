"""The loop that sends webhooks when the machine says they are due.

Rule 1: the machine decides what is due and what follows from an outcome; this file only sends.
Rule 2: attempts which are due together are under way together, each over its own connection
        if need be; attempts which wait for each other are never due together.
Rule 3: it sleeps until the machine's next wake-up or until somebody calls ``wake``.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from io import BytesIO
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from yarl import URL

from simulator.clock import VirtualClock
from simulator.core.deliveries import Answered, Attempt, AttemptOutcome, NoAnswer
from simulator.core.journal import Together
from simulator.core.provider import Provider

Around = Callable[[Attempt], AbstractAsyncContextManager[object]]
"""Stands around an attempt: it leaves when the context was entered, and has ended at its end."""

ANSWER_LIMIT_BYTES: Final = 64 * 1024
"""How much of an endpoint's answer is read. An acknowledgement has no more to say."""


class Sender:
    """Delivers the webhooks of one provider."""

    def __init__(
        self,
        provider: Provider,
        clock: VirtualClock,
        *,
        timeout_s: float,
        on_answer: Callable[[Attempt], None],
        route: Callable[[str], str],
        together: Together,
        around: Around,
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._timeout_s = timeout_s
        self._on_answer = on_answer
        self._route = route
        self._together = together
        self._around = around
        self._news = asyncio.Event()
        self._begun: list[Attempt] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to send; on the running loop."""
        assert self._loop is None
        self._loop = asyncio.create_task(self._run(), name="webhook sender")

    def send(self, attempt: Attempt) -> None:
        """Send an attempt that somebody else has begun, at once."""
        self._begun.append(attempt)
        self._news.set()

    def wake(self) -> None:
        """Look again, if anything is due at all: most calls cause no webhook."""
        if self._provider.next_wakeup() is not None:
            self._news.set()

    async def stop(self) -> None:
        """Stop at once. What is under way is abandoned, as by a provider that went down."""
        tasks = [task for task in (self._loop, *self._under_way) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        async with ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=self._timeout_s),
            auto_decompress=False,
        ) as session:
            while True:
                self._news.clear()
                begun, self._begun = self._begun, []
                with self._together():  # nothing is sent before it is written down
                    due = self._provider.attempts_due(self._clock.now())
                for attempt in (*begun, *due):
                    task = asyncio.create_task(self._send(session, attempt))
                    self._under_way.add(task)
                    task.add_done_callback(self._under_way.discard)
                await self._sleep()

    async def _sleep(self) -> None:
        """Wait for news, or for the next wake-up."""
        wakeup_s = self._provider.next_wakeup()
        wait_s = None if wakeup_s is None else self._clock.real_seconds_until(wakeup_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._news.wait()

    async def _send(self, session: ClientSession, attempt: Attempt) -> None:
        async with self._around(attempt):
            outcome = await self._post(session, attempt)
            self._provider.attempt_finished(attempt, outcome, self._clock.now())
        self._on_answer(attempt)
        self.wake()

    async def _post(self, session: ClientSession, attempt: Attempt) -> AttemptOutcome:
        """Send one attempt, and tell what came of it. A redirect is an answer, not a way.

        It always ends, and an answer that has come counts whatever happens after it: an endpoint
        may answer before it has read a large body and never read the rest, and aiohttp waits for
        the end of the upload without a limit. Only who is deaf has heard none.
        """
        deaf_after_s = attempt.tamper.deaf_after_s
        if deaf_after_s is not None:
            await self._posted(session, attempt, deaf_after_s)
            return NoAnswer(f"hung up after {1000 * deaf_after_s:g} ms without an answer")
        return await self._posted(session, attempt, self._timeout_s)

    async def _posted(
        self, session: ClientSession, attempt: Attempt, within_s: float
    ) -> AttemptOutcome:
        message = self._provider.message(attempt, time.time())
        outcome: AttemptOutcome = NoAnswer(f"timed out after {within_s:g} s")
        try:
            async with (
                asyncio.timeout(within_s),
                session.post(
                    URL(self._route(message.path), encoded=True),
                    data=_half_of(message.body) if attempt.tamper.cut else BytesIO(message.body),
                    headers={**message.headers, "content-length": str(len(message.body))},
                    allow_redirects=False,
                ) as answer,
            ):
                body = await answer.content.read(ANSWER_LIMIT_BYTES)
                outcome = Answered(answer.status, body)
        except TimeoutError:
            return outcome
        except (ClientError, OSError, ValueError, RuntimeError) as error:
            # RuntimeError is what uvloop raises for a write to a connection that was closed.
            if isinstance(outcome, NoAnswer):
                why = f"{type(error).__name__}: {error}"
                cut = "cut off in the middle of the request"
                outcome = NoAnswer(cut if attempt.tamper.cut else why)
        return outcome


async def _half_of(body: bytes) -> AsyncIterator[bytes]:
    """Give half of a body away, and then fail as a connection does."""
    yield body[: len(body) // 2]
    raise ConnectionAbortedError
