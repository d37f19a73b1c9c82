"""``value``: what a call makes many of: a frozen dataclass, to everybody but the interpreter.

At run time, a frozen dataclass sends every field through ``object.__setattr__``, which makes a
charge several times as dear as it need be. So what is written as a dataclass is made a struct of
msgspec, which C fills and guards; ``dataclasses.replace`` and ``asdict`` know it all the same.
"""

import dataclasses
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value(*, frozen: Literal[True], slots: Literal[True]) -> Callable[[type], type]:
        """Make a class what ``dataclass(frozen=True, slots=True)`` would, of quicker make."""
        assert frozen
        assert slots
        return _struct


_OF_EVERY_CLASS: Final = frozenset({"__dict__", "__weakref__"})


def _struct(cls: type) -> type:
    body = {name: _default(it) for name, it in vars(cls).items() if name not in _OF_EVERY_CLASS}
    made = types.new_class(
        cls.__name__, (msgspec.Struct,), {"frozen": True}, lambda namespace: namespace.update(body)
    )
    fields = dataclasses.dataclass(frozen=True)(cls).__dataclass_fields__  # type: ignore[attr-defined]
    made.__dataclass_fields__ = fields  # type: ignore[attr-defined]
    return made


def _default(attribute: Any) -> Any:
    if not isinstance(attribute, dataclasses.Field):
        return attribute
    assert callable(attribute.default_factory), "of field(), a struct knows the factory"
    assert attribute.repr, "of field(), a struct knows the factory"
    assert attribute.compare, "of field(), a struct knows the factory"
    return msgspec.field(default_factory=attribute.default_factory)


__all__ = ["value"]
