"""A request, and two copies of each of its webhooks at once: the dedupe of events, put to it."""

from typing import Final

from onecharge.engine.scope import Scope

SCOPE: Final = Scope("a request and two copies of its webhook", presses=1, webhooks=True, copies=2)
