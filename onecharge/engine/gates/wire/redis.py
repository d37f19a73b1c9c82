"""Redis' protocol, RESP 2 and 3, as far as somebody in the middle has to understand it.

Rule 1: bytes are kept as they are: what goes in comes out, in pieces that end where values end.
Rule 2: a value may be of any size and depth; the work is done once for every byte, however
        the network cuts it, and a long string is passed on before it is complete.
Rule 3: no I/O, no clock, and no opinion.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

WHOLE: Final = 65_536
"""What is larger comes in pieces, the first of at least so many bytes."""

_LONGEST_LINE: Final = 65_536
_STRINGS: Final = b"$!="
_MANY: Final = {b"*": 1, b"~": 1, b">": 1, b"%": 2, b"|": 2}
"""The kinds that hold others, and how many values a count of one stands for."""
_LINES: Final = b"+-:_,#("


class Garbled(Exception):
    """The bytes are no values of Redis' protocol; the message says what was found."""


class Piece(NamedTuple):
    """A value with everything in it, or a part of a large one."""

    data: bytes
    first: bool = True
    last: bool = True

    @property
    def kind(self) -> bytes:
        """What the value is, of a first piece: ``b">"`` is a push, ``b"-"`` an error."""
        return self.data[:1]


@dataclass(slots=True)
class Frames:
    """Cuts one direction of a connection into its values.

    ``inline``: a value may also be a line of words, as people type it: a client's may, not a
    server's.
    """

    inline: bool = False
    _data: bytearray = field(default_factory=bytearray)
    _at: int = 0
    _to_skip: int = 0
    _open: list[int] = field(default_factory=list)
    _begun: bool = False
    """Whether a piece of the present value was already given away."""

    def feed(self, data: bytes) -> list[Piece]:
        """Return the values that are complete now, and what there is of large ones."""
        self._data += data
        pieces: list[Piece] = []
        while self._step():
            if not self._open and not self._to_skip:
                pieces.append(self._cut(last=True))
        if self._at >= WHOLE or (self._begun and self._at):
            pieces.append(self._cut(last=False))
        return pieces

    def _cut(self, *, last: bool) -> Piece:
        piece = Piece(bytes(self._data[: self._at]), first=not self._begun, last=last)
        del self._data[: self._at]
        self._at = 0
        self._begun = not last
        return piece

    def _step(self) -> bool:
        """Go on to the end of a part; False if there is nothing to go on with."""
        if self._to_skip:
            taken = min(self._to_skip, len(self._data) - self._at)
            self._at += taken
            self._to_skip -= taken
            if self._to_skip or not taken:
                return False
            self._value_ended()
            return True
        if self._at == len(self._data):
            return False
        end = self._data.find(b"\n", self._at)
        if end < 0:
            if len(self._data) - self._at > _LONGEST_LINE:
                raise Garbled(f"a line that begins with {bytes(self._data[self._at :][:20])!r}")
            return False
        line = bytes(self._data[self._at : end]).rstrip(b"\r")
        self._at = end + 1
        self._line(line)
        return True

    def _line(self, line: bytes) -> None:
        kind = line[:1]
        if self.inline and not self._open and kind != b"*":
            return
        if kind in _MANY:
            about = kind == b"|"  # an attribute: behind it comes the value that it is about
            if (count := _number(line) * _MANY[kind] + about) > 0:
                self._open.append(count)
                return
        elif kind and kind in _STRINGS:
            if (length := _number(line)) >= 0:
                self._to_skip = length + 2
                return
        elif not kind or kind not in _LINES:
            raise Garbled(f"a value that begins with {line[:20]!r}")
        self._value_ended()

    def _value_ended(self) -> None:
        while self._open:
            self._open[-1] -= 1
            if self._open[-1]:
                return
            self._open.pop()


def _number(line: bytes) -> int:
    try:
        return int(line[1:])
    except ValueError:
        raise Garbled(f"a value that begins with {line[:20]!r}") from None


def words(data: bytes) -> list[bytes]:
    """Return the words of a command, as far as the piece has them."""
    if data[:1] != b"*":
        return data.split()
    found: list[bytes] = []
    at = data.find(b"\n") + 1
    while 0 < at < len(data) and data[at : at + 1] == b"$":
        end = data.find(b"\n", at)
        if end < 0:
            break
        length = _number(data[at:end].rstrip(b"\r"))
        found.append(data[end + 1 : end + 1 + length])
        at = end + 1 + length + 2
    return found


def command(*said: str | bytes) -> bytes:
    """Return a command."""
    parts = [word.encode() if isinstance(word, str) else word for word in said]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


def error(text: str) -> bytes:
    """Return an error as a server answers with: a code and some words."""
    return f"-{text}\r\n".encode()
