"""An event loop on a thread of its own, so that sync and async tests may use what lives on it.

Rule 1: what lives on the loop is touched on the loop only; ``run`` and ``call`` carry a request
        over and its result, or its error, back.
Rule 2: the loop ends with its owner: ``close`` leaves neither thread nor task behind.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """One event loop, running on one thread until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<LoopThread {self._thread.name} {'up' if self._thread.is_alive() else 'down'}>"

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return what it returns; its error is raised here."""
        assert threading.current_thread() is not self._thread, "the loop would wait for itself"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def call(self, work: Callable[[], T]) -> T:
        """Call a function on the loop and return what it returns."""

        async def called() -> T:
            return work()

        return self.run(called())

    async def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop while the caller's own loop goes on."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """End every task, then the loop and its thread."""
        self.run(_ended())
        self.run(self._loop.shutdown_asyncgens())
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def loop_thread(name: str) -> Iterator[LoopThread]:
    """Run an event loop on a thread of this name, as long as the context lasts."""
    loop = LoopThread(name)
    try:
        yield loop
    finally:
        loop.close()


async def _ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
