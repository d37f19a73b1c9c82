"""Virtual time as this provider writes it: whole seconds since 1970."""

from typing import Final

EPOCH_S: Final = 1_767_225_600
"""2026-01-01: where virtual time begins."""


def instant(virtual_s: float) -> int:
    """Return an instant of virtual time."""
    return EPOCH_S + int(virtual_s)
