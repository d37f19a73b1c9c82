"""Faults that a request asks for itself, so that a test needs no second connection.

Rule 1: a header or a metadata field names them; somebody else reads the names.
Rule 2: what is asked for strikes once under one idempotency key, unless it says how often:
        the retry that repeats the header gets through. A call without a key is on its own.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from simulator.core.calls import CreateCharge
from simulator.core.rules import Armed, Rule

if TYPE_CHECKING:
    from simulator.core.calls import Operation
    from simulator.core.messages import HttpRequest

HEADER: Final = "onecharge-faults"
METADATA: Final = "onecharge_faults"

Read = Callable[[str], tuple[Rule, ...]]


class Chains:
    """What requests have asked for, and how much of it they have had."""

    def __init__(self, read: Read | None) -> None:
        self._read = read
        self._had: dict[tuple[str, str, str], tuple[Armed, ...]] = {}

    def asked_by(
        self, operation: "Operation", key: str | None, request: "HttpRequest"
    ) -> tuple[Armed, ...]:
        """Return the faults that a request asks for. Raises ``ValueError`` for nonsense."""
        if self._read is None:
            return ()
        text = request.headers.get(HEADER)
        if text is None and isinstance(operation.params, CreateCharge):
            text = operation.params.metadata.get(METADATA)
        if text is None:
            return ()
        place = (operation.account, key or "", text)
        asked = self._had.get(place) if key is not None else None
        if asked is None:
            asked = tuple(Armed(rule, number) for number, rule in enumerate(self._read(text)))
        if key is not None:
            self._had[place] = asked
        return asked
