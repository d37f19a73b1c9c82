"""The framing of PostgreSQL's protocol, whatever the network cuts it into."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onecharge.engine.gates.wire import postgres as wire
from onecharge.engine.gates.wire.postgres import Frames, Garbled, Piece

kinds = st.sampled_from([b"Q", b"P", b"B", b"E", b"S", b"d", b"D", b"Z"])
sizes = st.integers(0, 40) | st.integers(wire.WHOLE - 10, 3 * wire.WHOLE)
messages = st.lists(st.tuples(kinds, sizes), max_size=8)
PATTERN = bytes(range(251)) * (3 * wire.WHOLE // 251 + 1)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]


def joined(pieces: list[Piece]) -> list[tuple[bytes, bytes]]:
    """The messages that pieces are parts of."""
    whole: list[tuple[bytes, bytes]] = []
    for kind, data, first, _ in pieces:
        if first:
            whole.append((kind, data))
        else:
            assert whole[-1][0] == kind
            whole[-1] = (kind, whole[-1][1] + data)
    return whole


@given(messages, st.lists(st.integers(0, 10**7), max_size=12))
def test_any_cut_gives_the_same_messages_and_the_same_bytes(
    said: list[tuple[bytes, int]], at: list[int]
) -> None:
    sent = [(kind, wire.message(kind, PATTERN[:size])) for kind, size in said]
    stream = b"".join(data for _, data in sent)
    frames = Frames()

    pieces = [piece for part in cut(stream, at) for piece in frames.feed(part)]

    assert joined(pieces) == sent
    assert b"".join(piece.data for piece in pieces) == stream
    for piece in pieces:
        assert piece.last or not piece.first or len(piece.data) >= wire.WHOLE
    assert sum(piece.last for piece in pieces) == len(sent)


def test_a_large_message_is_not_waited_for() -> None:
    frames = Frames()
    message = wire.message(b"d", b"x" * 10 * wire.WHOLE)

    first = frames.feed(message[: wire.WHOLE])
    second = frames.feed(message[wire.WHOLE : wire.WHOLE + 1])

    assert [(len(each.data), each.first, each.last) for each in first + second] == [
        (wire.WHOLE, True, False),
        (1, False, False),
    ]


def test_a_length_that_cannot_be_is_not_understood() -> None:
    with pytest.raises(Garbled, match="type b'G' and length 3"):
        Frames().feed(b"G\0\0\0\3oooo")


def packet(code: int, body: bytes = b"") -> bytes:
    return struct.pack("!II", 8 + len(body), code) + body


@pytest.mark.parametrize(
    "data, wanted",
    [
        (packet(wire.SSL_REQUEST), wire.Encryption()),
        (packet(wire.GSS_REQUEST), wire.Encryption()),
        (
            packet(wire.CANCEL_REQUEST, b"12345678"),
            wire.Cancel(packet(wire.CANCEL_REQUEST, b"12345678")),
        ),
        (packet(196608, b"user\0x\0\0"), wire.Startup(packet(196608, b"user\0x\0\0"))),
        (packet(196610, b"user\0x\0\0"), wire.Startup(packet(196610, b"user\0x\0\0"))),
    ],
)
def test_a_first_packet_is_read_once_it_is_there(data: bytes, wanted: wire.Opening) -> None:
    assert [wire.read_opening(data[:end]) for end in range(len(data))] == [None] * len(data)
    assert wire.read_opening(data + b"rest") == (wanted, b"rest")


def test_tls_from_the_first_byte_is_seen_in_the_first_byte() -> None:
    assert wire.read_opening(b"\x16") == (wire.DirectTls(), b"\x16")


def test_another_protocol_is_not_taken_for_postgresql() -> None:
    with pytest.raises(Garbled, match="GET / HT"):
        wire.read_opening(b"GET / HTTP/1.1\r\n")


def test_what_messages_say_is_read() -> None:
    parse = wire.message(b"P", b"s1\0SELECT 1\0\0\0")
    bind = wire.message(b"B", b"p1\0s1\0" + bytes(6))

    assert wire.parsed(parse) == (b"s1", "SELECT 1")
    assert wire.bound(bind) == (b"p1", b"s1")
    assert wire.executed(wire.message(b"E", b"p1\0" + bytes(4))) == b"p1"
    assert wire.query_text(wire.query("SELECT 'ü'")) == "SELECT 'ü'"
    assert wire.closed_statement(wire.message(b"C", b"Ss1\0")) == b"s1"
    assert wire.closed_statement(wire.message(b"C", b"Pp1\0")) is None
    assert wire.sqlstate(wire.error("40P01", "deadlock detected")) == "40P01"


def test_of_what_authentication_offers_only_the_bound_is_taken_away() -> None:
    offered = wire.message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
    kept = wire.message(b"R", struct.pack("!I", 10) + b"SCRAM-SHA-256\0\0")
    ok = wire.message(b"R", struct.pack("!I", 0))

    assert wire.without_channel_binding(offered) == kept
    assert wire.without_channel_binding(ok) == ok
