"""The recorder writes the history as it happens.

Rule 1: a record has reached the operating system before the caller goes on: a killed harness
        loses nothing that anybody has seen the consequences of. Records written ``together``
        get there in one write, when the block ends, before anybody can see a consequence.
Rule 2: what cannot be written is still kept in memory and judged; ``lost`` says so.
Rule 3: after a failed write the file is left alone: it ends where the disk did, with at most one
        torn line, and never has a hole in the middle.
Rule 4: a history is never overwritten.
Rule 5: no live key and nobody's card number gets in, wherever the service sent it.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from onecharge.history.records import HEADER, VERSION, Record, to_line
from simulator.core.journal import Entry
from simulator.redaction import may_hold_a_secret, without_secrets

Subscriber = Callable[[Record], object]


class Recorder:
    """A sink for entries: call it with an entry, get the entry's index in the history.

    Without a ``path`` the history lives in memory only. With one, ``path`` must not exist yet;
    an ``OSError`` says if it cannot be made. ``clock`` returns monotonic nanoseconds.
    """

    def __init__(
        self, path: Path | None = None, *, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self.path = path
        self.records: list[Record] = []
        self._clock = clock
        self._lock = threading.RLock()
        self._subscribers: list[Subscriber] = []
        self._file: int | None = None
        self._trouble: OSError | None = None
        self._lines: list[str] = []  # not yet handed over
        self._blocks = 0  # in which we are, one inside the other
        self._written = 0  # lines, and so with the header
        self._last_ns = clock()
        if path is not None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            self._lines.append(_header() + "\n")
            self._write()

    def __call__(self, entry: Entry) -> int:
        """Take an entry into the history and return its index."""
        with self._lock:
            records = self.records
            index = len(records)
            record = Record.of(entry, index=index, time_ns=self._clock())
            line = to_line(record)  # before the append: what is no JSON is a bug, and shows at once
            behind_the_time = line.index('"lane"')  # which is a long number, and no secret
            if may_hold_a_secret(line, behind_the_time):
                record = _without_secrets(record)
                line = to_line(record)
            records.append(record)
            self._last_ns = record.time_ns
            self._lines.append(line + "\n")
            if not self._blocks:
                self._write()
        if self._subscribers:
            for subscriber in tuple(self._subscribers):
                subscriber(record)
        return index

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write what a block records in one piece when it ends: a call in one write, not in four.

        Nothing may leave the process inside the block. Another thread that has something to
        record waits for its end, so that the order of the file is that of the history.
        """
        with self._lock:
            self._blocks += 1
            try:
                yield
            finally:
                self._blocks -= 1
                if not self._blocks:
                    self._write()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every record from now on; returns how to stop that."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    @property
    def last_ns(self) -> int:
        """When anything last happened, in nanoseconds of the clock; at first, when we began."""
        return self._last_ns

    def silent_for(self, seconds: float) -> bool:
        """Tell whether nothing has been recorded for so long."""
        return self._clock() - self._last_ns >= seconds * 1e9

    @property
    def lost(self) -> str | None:
        """What the file lacks and why, in one sentence, or None."""
        if self._trouble is None:
            return None
        missing = len(self.records) - max(0, self._written - 1)
        return (
            f"{self.path}: {self._trouble.strerror or self._trouble}; "
            f"the last {missing} records are not on disk"
        )

    def close(self) -> None:
        """Close the file; entries that still arrive are kept in memory."""
        with self._lock:
            if self._file is not None:
                file, self._file = self._file, None
                os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "memory" if self.path is None else self.path.name
        return f"<Recorder {where}: {len(self.records)} records>"

    def _write(self) -> None:
        """Hand the lines to the operating system, unless it would not take an earlier one."""
        lines, self._lines = self._lines, []
        if self._file is None or self._trouble is not None:
            return
        data, done = "".join(lines).encode("ascii"), 0
        try:
            while done < len(data):
                done += os.write(self._file, memoryview(data)[done:])
        except OSError as trouble:
            self._trouble = trouble
        self._written += len(lines) if done == len(data) else data.count(b"\n", 0, done)


def _without_secrets(record: Record) -> Record:
    return structs.replace(
        record,
        value=without_secrets(record.value),
        order=without_secrets(record.order),
        tenant=without_secrets(record.tenant),
        key=without_secrets(record.key),
    )


def _header() -> str:
    return json.dumps(
        {HEADER: VERSION, "host": platform.node(), "pid": os.getpid(), "clock": "monotonic_ns"}
    )
