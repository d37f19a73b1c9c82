"""One request, and a service that dies at each place on its way."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope(
    "one request and a service that dies under way", presses=1, deaths=True, deviations=1
)
