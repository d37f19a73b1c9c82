"""Two requests with one key, and a lease that runs out while the first is still under way."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope(
    "two requests with one key, the second after the lease of the first",
    presses=2,
    outlives_a_lease=True,
)
