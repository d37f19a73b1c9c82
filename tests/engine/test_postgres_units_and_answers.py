"""What belongs together in PostgreSQL's protocol, and what the server still owes."""

from hypothesis import given
from hypothesis import strategies as st

from onecharge.engine.gates.wire import postgres as wire
from onecharge.engine.gates.wire.postgres import Piece
from onecharge.engine.gates.wire.postgres_answers import FAILED, IN_TRANSACTION, Awaited, Owed
from onecharge.engine.gates.wire.postgres_units import Unit, Units


def parse(name: str, text: str) -> Piece:
    return Piece(b"P", wire.message(b"P", f"{name}\0{text}\0".encode() + bytes(2)))


def bind(portal: str, name: str) -> Piece:
    return Piece(b"B", wire.message(b"B", f"{portal}\0{name}\0".encode() + bytes(6)))


def execute(portal: str) -> Piece:
    return Piece(b"E", wire.message(b"E", f"{portal}\0".encode() + bytes(4)))


def close(name: str) -> Piece:
    return Piece(b"C", wire.message(b"C", f"S{name}\0".encode()))


SYNC, FLUSH = Piece(b"S", wire.message(b"S", b"")), Piece(b"H", wire.FLUSH)
QUERY = Piece(b"Q", wire.query("COMMIT"))
LARGE = Piece(b"B", bind("", "s").data + b"x" * wire.WHOLE, last=False)
REST = Piece(b"B", b"y" * 10, first=False)


def texts(*pieces: Piece) -> list[str]:
    units = Units()
    return [unit.text for piece in pieces for unit in units.take(piece) if unit.text is not None]


pieces = st.sampled_from(
    [
        *(parse("s", "SELECT 1"), bind("", "s"), bind("p", "s")),
        *(execute(""), execute("p"), close("s"), SYNC, FLUSH, QUERY),
    ]
)


@given(st.lists(pieces, max_size=20))
def test_every_message_is_in_one_unit_in_its_order(said: list[Piece]) -> None:
    units = Units()

    taken: list[list[Unit]] = [units.take(piece) for piece in [*said, SYNC]]

    assert [piece for each in taken for unit in each for piece in unit.pieces] == [*said, SYNC]
    for each in taken:
        assert all(unit.text is None for unit in each[:-1])


def test_an_execute_is_known_by_the_text_that_was_parsed_for_it() -> None:
    assert texts(parse("s", "SELECT 1"), SYNC, bind("", "s"), execute(""), SYNC) == ["SELECT 1"]


def test_more_rows_of_a_portal_are_no_second_statement() -> None:
    fetch = (execute("p"), FLUSH)

    assert texts(parse("", "SELECT 1"), bind("p", ""), *fetch, *fetch, SYNC) == ["SELECT 1"]


def test_a_statement_of_no_known_name_is_called_by_it() -> None:
    assert texts(parse("s", "SELECT 1"), close("s"), bind("", "s"), execute("")) == ["EXECUTE s"]


def test_a_large_bind_is_a_statement_at_once_and_its_execute_none() -> None:
    begun = (parse("s", "SELECT 1"), LARGE)

    assert texts(*begun) == ["SELECT 1"]
    assert texts(*begun, REST, execute(""), SYNC, bind("", "s"), execute("")) == ["SELECT 1"] * 2


def awaited(kinds: str) -> Awaited[str]:
    line: Awaited[str] = Awaited()
    for kind in kinds:
        line.asked(Owed(kind.encode()))
    return line


def came(line: Awaited[str], kinds: str, status: bytes = b"I") -> int:
    return sum(len(line.came(kind.encode(), b"Z\0\0\0\5" + status)) for kind in kinds)


def test_answers_settle_what_they_answer() -> None:
    line = awaited("PBDES")

    assert came(line, "12TDDC") == 4
    assert line.working
    assert came(line, "NSAZ", IN_TRANSACTION) == 1
    assert (len(line), line.status, line.working) == (0, IN_TRANSACTION, False)


def test_after_an_error_nothing_is_owed_before_the_sync() -> None:
    line = awaited("PBE")
    assert came(line, "1E") == 3
    assert line.skipping

    line.asked(Owed(b"B"))
    assert len(line) == 0
    line.asked(Owed(b"S"))
    assert not line.skipping
    assert came(line, "Z", FAILED) == 1


def test_a_sync_that_is_read_during_a_copy_is_not_answered() -> None:
    line = awaited("PBES")
    assert came(line, "12G") == 2
    assert not line.working

    for kind in "ddc":
        line.asked(Owed(kind.encode()))
    assert line.working
    line.asked(Owed(b"S"))

    assert came(line, "CZ") == 2
    assert len(line) == 0


def test_a_query_is_answered_when_the_server_is_ready_whatever_came_before() -> None:
    line = awaited("Q")

    assert came(line, "TDCTDCE") == 0
    assert came(line, "Z") == 1
