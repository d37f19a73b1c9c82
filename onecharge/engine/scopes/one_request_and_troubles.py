"""One request and everything that can go wrong with it, a trouble at a time; then once more."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope(
    "one request, its troubles, and the same request again", presses=1, troubles=True, deviations=1
)
