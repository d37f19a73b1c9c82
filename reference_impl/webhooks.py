"""What this service asks of whoever reads the provider's webhooks: two questions.

Rule 1: the signature is verified over the raw body, before a byte of it is parsed.
Rule 2: whatever the provider's words are, what is read is an ``Event`` in ours.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from reference_impl.event import Event


class Webhooks(Protocol):
    """A reader of one provider's webhooks. Header names are in lower case."""

    def authentic(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """Say whether the provider wrote this, lately; during a rotation, with either secret."""
        ...

    def read(self, headers: Mapping[str, str], body: bytes) -> Event:
        """Return the event in an authentic body; raise pydantic's ``ValidationError`` if none."""
        ...
