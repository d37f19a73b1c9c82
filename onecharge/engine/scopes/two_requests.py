"""Two requests with one key: the double click, the impatient retry."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope("two requests with one key", presses=2)
