"""Two requests with one key, the second around the end of the first: for stores without a gate."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope(
    "two requests with one key, the second around the end of the first",
    presses=2,
    late_probes=True,
)
