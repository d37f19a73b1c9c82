"""What of a PostgreSQL client's messages belongs together: what is passed on, or held, as one.

Rule 1: a Query is one unit. So is an Execute, together with the Parse, Bind and Describe that
        stand before it: no client may count on an answer before it asks for one, by a Sync or a
        Flush, and those pass on whatever was gathered.
Rule 2: names are remembered, so that an Execute is known by the text that was parsed for it.
Rule 3: what is too large to be gathered is a unit as soon as that is seen; its Execute then passes.
Rule 4: a portal is one statement, however often more of its rows are fetched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from onecharge.engine.gates.wire import postgres as wire
from onecharge.engine.gates.wire.postgres import Piece


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that go together, in their order."""

    pieces: tuple[Piece, ...]
    text: str | None = None
    """The statement that they have the server do; None if they do nothing that could be held."""


@dataclass(slots=True)
class _Portal:
    text: str
    begun: bool = False


class Units:
    """Gathers the messages of one client."""

    def __init__(self) -> None:
        self._group: list[Piece] = []
        self._texts: dict[bytes, str] = {}
        self._portals: dict[bytes, _Portal] = {}
        self._begun_early = False

    def take(self, piece: Piece) -> list[Unit]:
        """Return what a message completes. Only the last unit of all can be a statement."""
        if not piece.first:
            return [*self._gathered(), Unit((piece,))]
        return self._TAKEN.get(piece.kind, Units._other)(self, piece)

    def _query(self, piece: Piece) -> list[Unit]:
        return [*self._gathered(), Unit((piece,), wire.query_text(piece.data))]

    def _function_call(self, piece: Piece) -> list[Unit]:
        return [*self._gathered(), Unit((piece,), "FUNCTION CALL")]

    def _parse(self, piece: Piece) -> list[Unit]:
        name, text = wire.parsed(piece.data)
        self._texts[name] = text
        return self._gather(piece, text)

    def _bind(self, piece: Piece) -> list[Unit]:
        portal, name = wire.bound(piece.data)
        text = self._texts.get(name, f"EXECUTE {name.decode(errors='replace')}")
        self._portals[portal] = _Portal(text, begun=self._begun_early)
        return self._gather(piece, text)

    def _describe(self, piece: Piece) -> list[Unit]:
        self._group.append(piece)
        return []

    def _close(self, piece: Piece) -> list[Unit]:
        if (name := wire.closed_statement(piece.data)) is not None:
            self._texts.pop(name, None)
        self._group.append(piece)
        return []

    def _execute(self, piece: Piece) -> list[Unit]:
        self._group.append(piece)
        self._begun_early = False
        portal = self._portals.setdefault(wire.executed(piece.data), _Portal("", begun=True))
        if portal.begun:
            return self._gathered()
        portal.begun = True
        return self._gathered(portal.text)

    def _other(self, piece: Piece) -> list[Unit]:
        self._begun_early = self._begun_early and piece.kind != b"S"
        return [*self._gathered(), Unit((piece,))]

    _TAKEN: ClassVar[dict[bytes, Callable[["Units", Piece], list[Unit]]]] = {
        b"Q": _query,
        b"F": _function_call,
        b"P": _parse,
        b"B": _bind,
        b"D": _describe,
        b"C": _close,
        b"E": _execute,
    }

    def _gather(self, piece: Piece, text: str) -> list[Unit]:
        """Keep a Parse or a Bind for its Execute, unless that is too much to keep (rule 3)."""
        self._group.append(piece)
        if piece.last and sum(len(each.data) for each in self._group) <= wire.WHOLE:
            return []
        if self._begun_early:
            return self._gathered()
        self._begun_early = True
        for each in self._group:
            if each.kind == b"B":
                self._portals[wire.bound(each.data)[0]].begun = True
        return self._gathered(text)

    def _gathered(self, text: str | None = None) -> list[Unit]:
        group, self._group = tuple(self._group), []
        return [Unit(group, text)] if group else []
