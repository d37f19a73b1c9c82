"""A record is one fact with its place and its time; a history is a list of them.

Rule 1: a record is written once and never changed; ``index`` is its place, from 0.
Rule 2: on disk a record is one JSON object on one line, so that a file cut off anywhere is a
        shorter history and not a broken one.
Rule 3: ``cause`` points backwards, to the record that caused this one.
Rule 4: a whole history is read at the speed of C; what the quick reader does not take, the
        careful one takes or says what is wrong with it.

What each record says, by lane, kind and ``what``, stands where it is understood, in the table
of ``onecharge.history.assembly``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

import msgspec

from simulator.core.journal import Entry, Kind
from simulator.core.json_text import as_json, quoted

VERSION: Final = 1
HEADER: Final = "onecharge_history"
KINDS: Final = frozenset(get_args(Kind))


class Record(msgspec.Struct, frozen=True, rename={"index": "i", "time_ns": "t"}):
    """An entry that has been taken into the history. ``time_ns`` is the host's monotonic clock."""

    index: int
    time_ns: int
    lane: str
    kind: Kind
    value: Mapping[str, Any] = {}  # made anew for every record, as all of msgspec's defaults are
    order: str | None = None
    tenant: str | None = None
    key: str | None = None
    cause: int | None = None

    @classmethod
    def of(cls, entry: Entry, *, index: int, time_ns: int) -> "Record":
        """Give an entry its place and its time."""
        return cls(
            index=index,
            time_ns=time_ns,
            lane=entry.lane,
            kind=entry.kind,
            value=entry.value,
            order=entry.order,
            tenant=entry.tenant,
            key=entry.key,
            cause=entry.cause,
        )

    @property
    def what(self) -> str:
        """The fact that this record states, as ``call``, ``charge.captured`` or ``answer``."""
        return str(self.value.get("what", ""))

    def __repr__(self) -> str:
        about = " ".join(word for word in (self.lane, self.kind, self.what, self.order) if word)
        return f"<Record {self.index} {about}>"


def to_line(record: Record) -> str:
    """Return the record as one line of JSON, without the line's end. What is empty is left out."""
    # ASCII only: half a character of a torn line must not spoil the reading of the others,
    # and a lone surrogate in a foreign answer must not stop the writing.
    order = "" if record.order is None else f',"order":{quoted(record.order)}'
    tenant = "" if record.tenant is None else f',"tenant":{quoted(record.tenant)}'
    key = "" if record.key is None else f',"key":{quoted(record.key)}'
    value = f',"value":{as_json(record.value)}' if record.value else ""
    cause = "" if record.cause is None else f',"cause":{record.cause}'
    return (
        f'{{"i":{record.index},"t":{record.time_ns},"lane":{quoted(record.lane)},'
        f'"kind":"{record.kind}"{order}{tenant}{key}{value}{cause}}}'
    )


def from_line(line: str | bytes) -> Record:
    """Read one line back; a line that is not a record is a ``ValueError`` that says why."""
    try:
        record = _QUICK.decode(line)
    except msgspec.DecodeError:
        # Lone surrogates of a foreign answer and integers of any length are JSON to Python alone.
        record = _with_care(line)
    if record.cause is not None and not 0 <= record.cause < record.index:
        raise ValueError(f"its cause {record.cause} does not come before it")
    return record


def from_lines(lines: bytes, first: int) -> Sequence[Record]:
    """Read many lines at once, which should hold the records from ``first`` on.

    ``ValueError`` if any of them has to be looked at by itself.
    """
    records: list[Record] = _QUICK.decode_lines(lines)
    if len(records) != lines.count(b"\n"):
        raise ValueError("not one record in each line")
    for index, record in enumerate(records, first):
        cause = record.cause
        if record.index != index or (cause is not None and not 0 <= cause < index):
            raise ValueError("a record is not in its place, or does not come after its cause")
    return records


_QUICK: Final = msgspec.json.Decoder(Record)


def _with_care(line: str | bytes) -> Record:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  one error for all damage
    return Record(
        index=_whole(data, "i"),
        time_ns=_whole(data, "t"),
        lane=_text(data, "lane"),
        kind=_kind(data),
        value=_value(data),
        order=_text_or_none(data, "order"),
        tenant=_text_or_none(data, "tenant"),
        key=_text_or_none(data, "key"),
        cause=_whole(data, "cause") if "cause" in data else None,
    )


def _whole(data: Mapping[str, Any], name: str) -> int:
    number = data.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"{name!r} is not a whole number")  # noqa: TRY004  one error for all damage
    return number


def _text(data: Mapping[str, Any], name: str) -> str:
    text = data.get(name)
    if not isinstance(text, str):
        raise ValueError(f"{name!r} is not a text")  # noqa: TRY004  one error for all damage
    return text


def _text_or_none(data: Mapping[str, Any], name: str) -> str | None:
    return _text(data, name) if name in data else None


def _kind(data: Mapping[str, Any]) -> Kind:
    kind = _text(data, "kind")
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of record")
    return kind  # type: ignore[return-value]  # just looked up


def _value(data: Mapping[str, Any]) -> Mapping[str, Any]:
    value = data.get("value", {})
    if not isinstance(value, dict):
        raise ValueError("'value' is not a JSON object")  # noqa: TRY004  one error for all damage
    return value
