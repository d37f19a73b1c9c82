"""Whose a boundary event is: a customer's request, a delivery, or the service's own affair.

A service tells nobody for whom it speaks to its store and its provider. But where one event goes
on at a time, what moves is known: a *chain* is a request from outside and all that follows from it.

Rule 1: what happens belongs to the chain whose event was released last, until the next release.
Rule 2: a connection whose transaction is open stays with the chain that opened it, and a provider
        call with the chain that made it.
Rule 3: a statement that waits for a lock goes on when another chain ends its transaction. Its
        answer is kept back until that chain has come to rest (``Standing``): rule 1 holds for it.
"""

from collections.abc import Hashable
from typing import Final

BACKGROUND: Final = "background:1"
"""The chain of what happens while nobody asks for anything."""


class Chains:
    """Tells whose each event is. ``moving`` is the chain that was let go on last."""

    def __init__(self) -> None:
        self.moving = BACKGROUND
        self._of: dict[Hashable, str] = {}

    def __repr__(self) -> str:
        return f"<Chains, {self.moving} moves>"

    def start_over(self) -> None:
        """Forget everything: a new run begins."""
        self.moving = BACKGROUND
        self._of.clear()

    def moves(self, chain: str) -> None:
        """Take in that an event of a chain goes on."""
        self.moving = chain

    def of(self, who: Hashable, *, stays: bool) -> str:
        """Return the chain of what happens now to a connection or a call.

        ``stays`` says whether that belongs to what happened to it before.
        """
        if not stays:
            self._of.pop(who, None)
        return self._of.setdefault(who, self.moving)

    def belongs(self, who: Hashable, chain: str) -> None:
        """Take in whose it is, whoever moves."""
        self._of[who] = chain

    def known(self, who: Hashable) -> str | None:
        """Return the chain to which something happened last, if there was one."""
        return self._of.get(who)
