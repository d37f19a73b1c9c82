"""``value``: what a call makes many of: a frozen dataclass, frozen by the type checker alone.

At run time, a frozen dataclass sends every field through ``object.__setattr__``, which makes a
charge four times as dear as it need be; and mypy, which runs strictly over all that is here, has
found every assignment before.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    AnyClass = TypeVar("AnyClass", bound=type)

    def value(*, frozen: Literal[True], slots: Literal[True]) -> Callable[[AnyClass], AnyClass]:
        """Make a class what ``dataclass(frozen=True, slots=True)`` would, unfrozen."""
        assert frozen
        return dataclass(slots=slots, unsafe_hash=True)


__all__ = ["value"]
