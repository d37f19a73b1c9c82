"""The framing of Redis' protocol, whatever the network cuts it into."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onecharge.engine.gates.wire import redis as wire
from onecharge.engine.gates.wire.redis import Frames, Garbled

SOMETHING = b"x\r\n$5\r\n" * (wire.WHOLE // 2)


def string(size: int) -> bytes:
    return b"$%d\r\n%s\r\n" % (size, SOMETHING[:size])


def many(values: list[bytes]) -> bytes:
    return b"*%d\r\n%s" % (len(values), b"".join(values))


def pairs(values: list[bytes]) -> bytes:
    return b"%%%d\r\n%s" % (len(values), b"".join(value + value for value in values))


lines = st.sampled_from(
    [
        *(b"+OK\r\n", b"-ERR no\r\n", b":5\r\n", b"_\r\n", b"#t\r\n", b",1.5\r\n", b"(123\r\n"),
        *(b"$-1\r\n", b"*-1\r\n", b"*0\r\n", b"%0\r\n", b"=7\r\ntxt:\r\n*\r\n", b"!3\r\nERR\r\n"),
    ]
)
sizes = st.integers(0, 30) | st.integers(wire.WHOLE - 5, wire.WHOLE * 2)
values = st.recursive(
    lines | sizes.map(string),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(many),
        st.lists(inner, min_size=1, max_size=2).map(pairs),
        inner.map(lambda value: b">2\r\n+message\r\n" + value),
        inner.map(lambda value: b"|1\r\n+ttl\r\n:3\r\n" + value),
    ),
    max_leaves=5,
)


@given(st.data(), st.lists(st.integers(0, 10**7), max_size=10))
def test_any_cut_gives_the_same_values_and_the_same_bytes(
    data: st.DataObject, at: list[int]
) -> None:
    sent = data.draw(st.lists(values, max_size=5).map(tuple).map(Sent)).values
    stream = b"".join(sent)
    places = [0, *sorted(place % (len(stream) + 1) for place in at), len(stream)]
    frames = Frames()

    pieces = [p for begin, end in pairwise(places) for p in frames.feed(stream[begin:end])]

    whole: list[bytes] = []
    for piece in pieces:
        if piece.first:
            whole.append(b"")
        whole[-1] += piece.data
        assert piece.last or not piece.first or len(piece.data) >= wire.WHOLE
    assert whole == list(sent)
    assert sum(piece.last for piece in pieces) == len(sent)


class Sent:
    """Values that are not shown at full length when a test fails."""

    def __init__(self, values: tuple[bytes, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Sent({[value[:40] for value in self.values]})"


def test_a_client_may_type_a_line() -> None:
    frames = Frames(inline=True)

    pieces = frames.feed(b"PING\r\nSET a b\n*1\r\n$4\r\nQUIT\r\n")

    assert [wire.words(piece.data) for piece in pieces] == [
        [b"PING"],
        [b"SET", b"a", b"b"],
        [b"QUIT"],
    ]


def test_a_long_string_is_not_waited_for() -> None:
    frames = Frames(inline=True)
    said = wire.command("SET", "k", b"x" * 10 * wire.WHOLE)

    first, *_ = frames.feed(said[: wire.WHOLE + 100])

    assert (first.first, first.last) == (True, False)
    assert wire.words(first.data)[:2] == [b"SET", b"k"]


@pytest.mark.parametrize(
    "line", [b"?what\r\n", b"*x\r\n", b"$?\r\n", b"\r\n", b"+" + b"x" * 70_000]
)
def test_what_is_no_value_is_not_understood(line: bytes) -> None:
    with pytest.raises(Garbled, match="that begins with"):
        Frames().feed(line)
