"""Reads histories back from disk, whole ones and those of a killed harness.

Rule 1: only the end of a file may be torn; damage elsewhere is an error that names file and line.
Rule 2: a file of a newer version is refused, never half understood.
Rule 3: clocks of one host can be compared, clocks of two hosts cannot.
"""

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import structs

from onecharge.history.records import HEADER, VERSION, Record, from_line


class HistoryError(Exception):
    """A file that cannot be read as a history; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What one process wrote: its records and whose clock they carry."""

    host: str
    pid: int
    records: tuple[Record, ...]


def read_history(path: Path) -> list[Record]:
    """Return the records of one file; a torn last line is left out."""
    return list(read_segment(path).records)


def read_segment(path: Path) -> Segment:
    """Return one file as a segment that can be merged with others of the same host."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error
    # A whole file ends in a line's end: what stands after the last one is torn, or nothing.
    torn = lines.pop()
    if not lines:
        beginning = f'{{"{HEADER}": '.encode()
        if torn[: len(beginning)] != beginning[: len(torn)]:
            raise HistoryError(f"{path}, line 1: this is no history of onecharge")
        return Segment(host="", pid=0, records=())
    header = _header(path, lines[0])
    records = tuple(_records(path, lines[1:]))
    return Segment(host=str(header.get("host", "")), pid=int(header.get("pid", 0)), records=records)


def merge(segments: Iterable[Segment]) -> list[Record]:
    """Put the segments of one host in one list by time; indexes and causes are made anew.

    Records of one segment keep their order, whatever their clock says. Segments of different
    hosts are a ``HistoryError``: their clocks have nothing to say to each other.
    """
    segments = [segment for segment in segments if segment.records]
    hosts = sorted({segment.host for segment in segments})
    if len(hosts) > 1:
        raise HistoryError(f"histories of different hosts cannot be put in order: {hosts}")
    placed = list(
        heapq.merge(
            *(
                [(number, record) for record in segment.records]
                for number, segment in enumerate(segments)
            ),
            key=lambda numbered: numbered[1].time_ns,
        )
    )
    place = {(number, record.index): index for index, (number, record) in enumerate(placed)}
    return [
        structs.replace(
            record,
            index=place[number, record.index],
            cause=None if record.cause is None else place[number, record.cause],
        )
        for number, record in placed
    ]


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


def _records(path: Path, lines: Sequence[bytes]) -> Iterator[Record]:
    for index, line in enumerate(lines):
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
