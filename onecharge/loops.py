"""The event loop that our commands run on: uvloop where it exists, asyncio's own elsewhere."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    import uvloop
except ImportError:
    new_event_loop = asyncio.new_event_loop
else:
    new_event_loop = uvloop.new_event_loop


def run_to_end(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a command's coroutine on a loop of its own and return what it returns."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
