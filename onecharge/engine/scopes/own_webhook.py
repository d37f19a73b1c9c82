"""A request and its own webhook, both of which may learn of the charge and book it."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope("a request and its own webhook", presses=1, webhooks=True)
