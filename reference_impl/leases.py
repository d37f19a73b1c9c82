"""A live owner renews its leases.

Rule 1: a lease is short, so that a dead owner is overtaken soon; a call may be long, so whoever
        is still at work says so before the lease is over.
Rule 2: a renewal asks for the token as well: what somebody else has taken over stays theirs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from reference_impl.operation import Operation
from reference_impl.reservation import Lease
from reference_impl.store import Store


class Leases:
    """The leases of one process. To hold one costs nothing until it has to be renewed."""

    def __init__(self, store: Store, lease: Callable[[datetime], Lease]) -> None:
        self.store = store
        self.lease = lease
        self._held: dict[str, int] = {}

    @contextmanager
    def held(self, operation: Operation) -> Iterator[None]:
        """Keep the lease on an operation for as long as the block lasts."""
        self._held[operation.id] = operation.lease_token
        try:
            yield
        finally:
            # Whoever overtook us may be this very process; then the lease is theirs.
            if self._held.get(operation.id) == operation.lease_token:
                del self._held[operation.id]

    async def run_once(self, now: datetime) -> int:
        """Renew every lease that is held and still ours; return how many."""
        if not self._held:
            return 0
        return await self.store.renew(dict(self._held), self.lease(now))
