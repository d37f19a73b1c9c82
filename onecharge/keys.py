"""Idempotency keys at the edge: what clients really send, and services really stumble over.

Rule 1: a *single* key may be refused (an empty one should be) or taken; taken, it must work as
        any other: once, and replayed.
Rule 2: the keys of a *pair* differ, so that they stand for two orders, however alike they look.
Rule 3: every key is made from an order's own, so that no two runs share one.
"""

from collections.abc import Callable
from typing import Final, Literal

SingleName = Literal["empty", "blank", "255", "256", "2000", "unicode", "braces", "quotes", "path"]
PairName = Literal["case", "common_prefix", "trailing_character", "leading_zeros"]

_LONG_PREFIX: Final = 45  # longer than many a column or cache key that cuts off

SINGLE: Final[dict[SingleName, Callable[[str], str]]] = {
    "empty": lambda _: "",
    "blank": lambda _: "   ",
    "255": lambda key: key.ljust(255, "k")[:255],
    "256": lambda key: key.ljust(256, "k")[:256],
    "2000": lambda key: key.ljust(2000, "k")[:2000],
    "unicode": lambda key: f"clé-ключ-🔑-{key}",
    "braces": lambda key: f"{{{key}}}",
    "quotes": lambda key: f'"{key}"',
    "path": lambda key: f"../{key}?a=b&c=%20#x",
}
"""A key made from an order's own, by the name of what is special about it."""

PAIR: Final[dict[PairName, Callable[[str], tuple[str, str]]]] = {
    "case": lambda key: (f"{key}-a".lower(), f"{key}-a".upper()),
    "common_prefix": lambda key: (
        f"{key.ljust(_LONG_PREFIX, 'k')[:_LONG_PREFIX]}-1",
        f"{key.ljust(_LONG_PREFIX, 'k')[:_LONG_PREFIX]}-2",
    ),
    "trailing_character": lambda key: (key, f"{key}0"),
    "leading_zeros": lambda key: (f"{_digits(key)}", f"0{_digits(key)}"),
}
"""Two keys that look alike and are two, for two orders."""


def _digits(key: str) -> str:
    """Return the key as a number, which some services take it for."""
    return str(int.from_bytes(key.encode()[-12:], "big"))
