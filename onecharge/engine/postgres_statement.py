"""A statement that the gate before PostgreSQL holds, and what can be done with it."""

from enum import Enum, auto
from typing import TYPE_CHECKING

from onecharge.engine.gate import Held
from onecharge.engine.parking import Place
from onecharge.engine.postgres_refusals import REFUSALS
from onecharge.engine.wire.postgres import Piece

if TYPE_CHECKING:
    from onecharge.engine.postgres_connection import Gated


class Loss(Enum):
    """How far a statement has come whose answer is to be lost."""

    NONE = auto()
    PASSING = auto()
    """Its Execute has not been read yet."""
    PASSED = auto()
    """The client's next message shows whether its transaction ends here."""
    SEALED = auto()
    """Everything has been sent: the connection ends as soon as it is done."""


class Statement(Held):
    """A statement that is held: a Query, or what belongs to an Execute."""

    def __init__(self, way: "Gated", place: Place, text: str, pieces: tuple[Piece, ...]) -> None:
        said = b"".join(piece.data for piece in pieces)
        super().__init__(way.gate, place, text, said)
        self._way = way
        self.pieces = pieces

    @property
    def simple(self) -> bool:
        """Whether the server answers it with ReadyForQuery, without being asked to."""
        return self.pieces[0].kind in {b"Q", b"F"}

    @property
    def whole(self) -> bool:
        """Whether all of it is here: not so while a large one still comes in."""
        return self.simple or self.pieces[-1].kind == b"E"

    def _pass_on(self) -> None:
        self._way.pass_on(self)

    def _cut_before(self) -> None:
        self._way.end()

    def _cut_after(self) -> None:
        self._way.pass_on_and_lose(self)

    def _check(self, code: str) -> None:
        if code not in REFUSALS:
            raise ValueError(f"expected one of {', '.join(REFUSALS)}, not {code!r}")

    def _refuse(self, code: str) -> None:
        self._way.refuse(self, REFUSALS[code])
