"""What this service asks of any provider: two questions.

Rule 1: an answer is an ``Answer`` in the words of ``outcomes.py``, or it was ``Lost``; deciding
        what that proves is the business of ``outcomes.py``.
Rule 2: every attempt at one operation sends the same bytes, or the provider would refuse the
        key. Which operation it is, and its upstream key, say all that is sent.
"""

from types import TracebackType
from typing import Protocol, Self

from reference_impl.operation import Operation
from reference_impl.outcomes import Answer, Lost


class Provider(Protocol):
    """A client of one provider's API."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    async def call(self, operation: Operation, upstream_key: str) -> Answer | Lost:
        """Ask for the operation under ``upstream_key``."""
        ...

    async def look(self, operation: Operation) -> Answer | Lost:
        """Ask for every charge with the operation's reference."""
        ...
