"""Two requests with one key, and a store and a provider that are quick or slow: nothing is held."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope(
    "two requests with one key, the store and the provider quick or slow",
    presses=2,
    paces=True,
    deviations=2,
)
