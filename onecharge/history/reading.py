"""Reads histories back from disk, whole ones and those of a killed harness.

Rule 1: only the end of a file may be torn; damage elsewhere is an error that names file and line.
Rule 2: a file of a newer version is refused, never half understood.
Rule 3: clocks of one host can be compared, clocks of two hosts cannot: what several hosts wrote
        has no common order, and its first record says so.
Rule 4: a long history is never in memory as a whole.
"""

import heapq
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from onecharge.history.records import HEADER, VERSION, Record, from_line, from_lines

_AT_ONCE: Final = 1 << 18
"""So many bytes are read together, and the rest of their last line."""


class HistoryError(Exception):
    """A file that cannot be read as a history; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one process wrote: its records and whose clock they carry.

    Those of a file are read when they are asked for, once.
    """

    host: str
    pid: int
    records: Iterable[Record]


def read_history(path: Path) -> list[Record]:
    """Return the records of one file; a torn last line is left out."""
    return list(stream(path))


def stream(path: Path) -> Iterator[Record]:
    """Return the records of one file, each read when it is asked for."""
    return iter(read_segment(path).records)


def read_segment(path: Path) -> Segment:
    """Return one file as a segment that can be merged with others."""
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error
    if first.endswith(b"\n"):
        header = _header(path, first)
        host, pid = str(header.get("host", "")), int(header.get("pid", 0))
        return Segment(host, pid, _records(path))
    # A whole line ends in a line's end: what does not is torn, or nothing.
    beginning = f'{{"{HEADER}": '.encode()
    if first[: len(beginning)] != beginning[: len(first)]:
        raise HistoryError(f"{path}, line 1: this is no history of onecharge")
    return Segment(host="", pid=0, records=())


def merge(segments: Iterable[Segment]) -> Iterator[Record]:
    """Put segments in one history; indexes and causes are made anew.

    Those of one host are put in order by time; records of one segment keep their order, whatever
    their clock says. Hosts come one after the other, since their clocks have nothing to say to
    each other; the first record then says that there is no order among them.
    """
    hosts: dict[str, list[Iterator[Record]]] = {}
    for segment in segments:
        records = iter(segment.records)
        if (first := next(records, None)) is not None:
            hosts.setdefault(segment.host, []).append(chain((first,), records))
    if len(hosts) > 1:
        value = {"what": "clock", "hosts": sorted(hosts)}
        yield Record(index=0, time_ns=0, lane="judge", kind="unknown", value=value)
    index = min(1, len(hosts) - 1) if hosts else 0
    for of_one_host in hosts.values():
        for record in _by_time(of_one_host, index):
            yield record
            index = record.index + 1


def _by_time(segments: Sequence[Iterator[Record]], index: int) -> Iterator[Record]:
    """Yield the records of one host in order, from ``index`` on."""
    places = [array("q") for _ in segments]  # where each record of each segment went
    numbered = (zip(repeat(n), records, strict=False) for n, records in enumerate(segments))
    for number, record in heapq.merge(*numbered, key=lambda pair: pair[1].time_ns):
        cause = None if record.cause is None else places[number][record.cause]
        places[number].append(index)
        yield structs.replace(record, index=index, cause=cause)
        index += 1


def runs(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Cut a history that holds several runs, one after the other, into one part for each."""
    starts = [place for place, record in enumerate(records) if _begins_a_run(record)]
    if not starts:
        return [records] if records else []
    return [records[a:b] for a, b in pairwise([0, *starts[1:], len(records)])]


def _begins_a_run(record: Record) -> bool:
    return record.lane == "judge" and record.kind == "invoke" and record.what == "run"


def _header(path: Path, line: bytes) -> Mapping[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get(HEADER), int):
        raise HistoryError(f"{path}, line 1: this is no history of onecharge")
    if header[HEADER] > VERSION:
        raise HistoryError(
            f"{path}, line 1: version {header[HEADER]} was written by a newer onecharge; "
            f"this one reads up to version {VERSION}"
        )
    return header


def _records(path: Path) -> Iterator[Record]:
    with path.open("rb") as file:
        file.readline()  # the header
        index = 0
        while lines := file.read(_AT_ONCE) + file.readline():
            whole = lines[: lines.rfind(b"\n") + 1]
            try:
                records = from_lines(whole, index)
            except ValueError:
                yield from _one_by_one(path, whole, index)
                index += whole.count(b"\n")
            else:
                yield from records
                index += len(records)
            if len(whole) < len(lines):
                return  # torn: nobody has seen a consequence of it


def _one_by_one(path: Path, lines: bytes, first: int) -> Iterator[Record]:
    """Read the lines up to the one that is damaged or not in its place, and say which it is."""
    for index, line in enumerate(lines.split(b"\n")[:-1], first):
        try:
            record = from_line(line)
        except ValueError as error:
            raise HistoryError(f"{path}, line {index + 2}: damaged: {error}") from error
        if record.index != index:
            raise HistoryError(
                f"{path}, line {index + 2}: record {record.index} where {index} belongs: "
                "a line is missing or was moved"
            )
        yield record
