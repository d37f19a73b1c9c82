"""A statement that the gate before PostgreSQL holds, and the answer to one that was blocked."""

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from onecharge.engine.gates.gate import Held
from onecharge.engine.gates.postgres_refusals import REFUSALS
from onecharge.engine.gates.statements import changes, ends
from onecharge.engine.gates.wire.postgres import Piece
from onecharge.engine.parking import Place, Standing

if TYPE_CHECKING:
    from onecharge.engine.gates.postgres_connection import Gated


class Loss(Enum):
    """How far a statement has come whose answer is to be lost."""

    NONE = auto()
    PASSING = auto()
    """Its Execute has not been read yet."""
    PASSED = auto()
    """The client's next message shows whether its transaction ends here."""
    SEALED = auto()
    """Everything has been sent: the connection ends as soon as it is done."""


class Transaction(Enum):
    """What was said on a connection since it was idle."""

    EMPTY = auto()
    """Nothing that may be held."""
    HABITS = auto()
    """Only what the service says of its own accord."""
    ASKED_FOR = auto()
    """Something that somebody waits for."""


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

    @property
    def stands_alone(self) -> bool:
        """Whether it is a transaction of its own, since none is open."""
        return self._way.idle

    @property
    def writes(self) -> bool:
        """Whether it writes, or locks what others write, or ends a transaction."""
        return changes(self.text) or ends(self.text)

    def _pass_on(self) -> None:
        self._way.pass_on(self)

    def _hear_later(self, seconds: float) -> None:
        self._way.hear_later(seconds)

    def _cut_before(self) -> None:
        self._way.end()

    def _cut_after(self) -> None:
        self._way.pass_on_and_lose(self)

    def _check(self, code: str) -> None:
        if code not in REFUSALS:
            raise ValueError(f"expected one of {', '.join(REFUSALS)}, not {code!r}")

    def _refuse(self, code: str) -> None:
        self._way.refuse(self, REFUSALS[code])


class Woken:
    """The answer to a statement that was blocked: kept back until its turn has come."""

    standing: Standing = "woken"

    def __init__(self, way: "Gated", statement: Statement) -> None:
        self.place: Final = statement.place
        self.order: Final = statement.order
        self._way = way
        self._parking = way.gate.parking
        self._said: list[bytes] = []
        self._over = False

    def __repr__(self) -> str:
        return f"<Woken {self.place}>"

    def keeps(self, data: bytes) -> bool:
        """Keep what the server says, and wait; False where nothing is to be kept any more."""
        if not self._said:
            if not self._parking.armed:
                self._way.wake()
                return False
            self._parking.park(self)
        self._said.append(data)
        return True

    def release(self) -> None:
        """Have the client hear it."""
        said = self._said
        self.withdraw()
        for data in said:
            self._way.hear(data)

    def withdraw(self) -> None:
        """Forget it: who waited is gone."""
        if self._over:
            return
        self._over = True
        self._way.wake()
        if self._said:
            self._parking.leave(self)
        self._said = []
