"""What is asked of an endpoint: the id in its path, its parameters, and on whose behalf."""

from collections.abc import Callable
from dataclasses import dataclass

from simulator.core.desk_calls import DeskCall
from simulator.dialects.stripe.forms import Fields


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, before its parameters are read. ``public``: a browser asks."""

    named: str
    fields: Fields
    public: bool = False


Reader = Callable[[Ask], DeskCall]
"""Reads what is asked, or raises ``Invalid``."""
