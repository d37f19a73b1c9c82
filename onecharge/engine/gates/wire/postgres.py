"""PostgreSQL's protocol, version 3, as far as somebody in the middle has to understand it.

Rule 1: bytes are kept as they are. What goes in comes out, whatever the network cut it into;
        a message is looked at, never written anew, unless it is one of our own.
Rule 2: a message of up to ``WHOLE`` bytes comes in one piece. A larger one comes in pieces, the
        first of at least ``WHOLE`` bytes, so that nobody has to hold all of it.
Rule 3: no I/O, no clock, and no opinion: what is to be done with a message is for the gate to say.
"""

import re
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

WHOLE: Final = 65_536
HEADER: Final = 5
"""The type byte, and four bytes of length, which count themselves but not the type."""

_LENGTH: Final = struct.Struct("!I")
_TWO: Final = struct.Struct("!II")


class Garbled(Exception):
    """The bytes are no messages of PostgreSQL's protocol; the message says what was found."""


class Piece(NamedTuple):
    """A message, or a part of a large one."""

    kind: bytes
    data: bytes
    first: bool = True
    last: bool = True


class Frames:
    """Cuts one direction of a connection into its messages, once the connection is opened."""

    def __init__(self) -> None:
        self._beginning = b""
        self._kind = b""
        self._to_come = 0

    def feed(self, data: bytes) -> list[Piece]:
        """Return the messages that are complete now, and what there is of large ones."""
        pieces: list[Piece] = []
        at = 0
        if self._to_come and data:
            part = data[: self._to_come]
            at = len(part)
            self._to_come -= at
            pieces.append(Piece(self._kind, part, first=False, last=not self._to_come))
        if self._beginning:
            data, at, self._beginning = self._beginning + data[at:], 0, b""
        end = len(data)
        while end - at >= HEADER:
            (length,) = _LENGTH.unpack_from(data, at + 1)
            if length < _LENGTH.size:
                raise Garbled(f"a message of type {data[at : at + 1]!r} and length {length}")
            after = at + 1 + length
            if after <= end:
                pieces.append(Piece(data[at : at + 1], data[at:after]))
                at = after
                continue
            if end - at < WHOLE:
                break
            self._kind, self._to_come = data[at : at + 1], after - end
            pieces.append(Piece(self._kind, data[at:], last=False))
            at = end
        self._beginning = data[at:]
        return pieces


# How a connection is opened

SSL_REQUEST: Final = 80877103
GSS_REQUEST: Final = 80877104
CANCEL_REQUEST: Final = 80877102
_LONGEST_OPENING: Final = 10_000  # PostgreSQL's own limit
_TLS_HANDSHAKE: Final = 0x16

WANTS_TLS: Final = _TWO.pack(8, SSL_REQUEST)
DECLINED: Final = b"N"
TLS_ALERT: Final = bytes([0x15, 3, 1, 0, 2, 2, 40])
"""Fatal, handshake_failure: what a TLS client understands when nobody here speaks TLS."""


@dataclass(frozen=True, slots=True)
class Encryption:
    """The client would like TLS or GSS, and waits for one byte."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the statement cancelled that another connection waits for."""

    packet: bytes

    @property
    def key(self) -> bytes:
        """Whose statement: the process and its secret, as the server told them."""
        return self.packet[8:]


@dataclass(frozen=True, slots=True)
class Startup:
    """A session begins."""

    packet: bytes


@dataclass(frozen=True, slots=True)
class DirectTls:
    """The client speaks TLS from the first byte on, without asking (``sslnegotiation=direct``)."""


Opening = Encryption | Cancel | Startup | DirectTls


def read_opening(data: bytes) -> tuple[Opening, bytes] | None:
    """Return what the first packet of a connection wants, and the bytes behind it.

    None until all of it is there. Raises ``Garbled`` for what cannot be one.
    """
    if data[:1] == bytes([_TLS_HANDSHAKE]):
        return DirectTls(), data
    if len(data) < _TWO.size:
        return None
    length, code = _TWO.unpack_from(data)
    if not _TWO.size <= length <= _LONGEST_OPENING:
        raise Garbled(f"a first packet that begins with {data[:8]!r}")
    if len(data) < length:
        return None
    packet, rest = data[:length], data[length:]
    match code:
        case 80877103 | 80877104:
            return Encryption(), rest
        case 80877102:
            return Cancel(packet), rest
        case _:
            return Startup(packet), rest


# What messages say


def query_text(data: bytes) -> str:
    """Return the text of a Query, as far as the piece has it."""
    return _text(data, HEADER)[0]


def parsed(data: bytes) -> tuple[bytes, str]:
    """Return the name that a Parse gives to a statement, and the statement's text."""
    name, at = _word(data, HEADER)
    return name, _text(data, at)[0]


def bound(data: bytes) -> tuple[bytes, bytes]:
    """Return the portal that a Bind makes, and the statement that it is made of."""
    portal, at = _word(data, HEADER)
    return portal, _word(data, at)[0]


def executed(data: bytes) -> bytes:
    """Return the portal that an Execute runs."""
    return _word(data, HEADER)[0]


def closed_statement(data: bytes) -> bytes | None:
    """Return the name of the statement that a Close ends; None if it ends a portal."""
    return _word(data, HEADER + 1)[0] if data[HEADER : HEADER + 1] == b"S" else None


def sqlstate(data: bytes) -> str:
    """Return the code of an ErrorResponse or a notice."""
    found = re.search(rb"\0C(.{5})\0", b"\0" + data[HEADER:], re.DOTALL)
    return found[1].decode() if found else ""


def backend_key(data: bytes) -> bytes:
    """Return what a CancelRequest for this session would carry: process and secret."""
    return data[HEADER:]


def backend_pid(key: bytes) -> int:
    """Return the server process that a key names."""
    return int(_LENGTH.unpack_from(key)[0])


def without_channel_binding(data: bytes) -> bytes:
    """Return an authentication request that offers no SCRAM bound to a TLS channel.

    Clients that speak to us in the clear refuse an offer that only makes sense under TLS.
    """
    (code,) = _LENGTH.unpack_from(data, HEADER)
    if code != _SASL:
        return data
    offered = data[HEADER + 4 :].split(b"\0")
    kept = [name for name in offered if not name.endswith(b"-PLUS")]
    return message(b"R", _LENGTH.pack(_SASL) + b"\0".join(kept))


_SASL: Final = 10


# Messages of our own


def message(kind: bytes, body: bytes) -> bytes:
    """Return a message."""
    return kind + _LENGTH.pack(len(body) + _LENGTH.size) + body


FLUSH: Final = message(b"H", b"")


def query(text: str) -> bytes:
    """Return a Query of the simple protocol."""
    return message(b"Q", text.encode() + b"\0")


def run_apart(name: bytes, text: str) -> list[tuple[bytes, bytes]]:
    """Return the messages that run a statement in the extended protocol, by kind.

    The statement and the portal have a name of their own: those of the client stay as they are.
    """
    return [
        (b"C", message(b"C", b"S" + name + b"\0")),
        (b"P", message(b"P", name + b"\0" + text.encode() + b"\0\0\0")),
        (b"B", message(b"B", name + b"\0" + name + b"\0" + bytes(6))),
        (b"E", message(b"E", name + b"\0" + bytes(4))),
    ]


def error(code: str, text: str, *, severity: str = "ERROR") -> bytes:
    """Return an ErrorResponse."""
    fields = (("S", severity), ("V", severity), ("C", code), ("M", text))
    return message(b"E", b"".join(f"{k}{v}\0".encode() for k, v in fields) + b"\0")


def _word(data: bytes, at: int) -> tuple[bytes, int]:
    end = data.find(b"\0", at)
    if end < 0:
        return data[at:], len(data)
    return data[at:end], end + 1


def _text(data: bytes, at: int) -> tuple[str, int]:
    word, end = _word(data, at)
    return word.decode(errors="replace"), end
