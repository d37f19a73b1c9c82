"""The logs of what a world runs, once it runs no more.

Rule 1: a process writes its log itself, so that the last words of a killed one are in it.
Rule 2: what a log ends up with is what may be shown: when all have ended, live keys and card
        numbers are taken out. The end of a log that is shown before is redacted by who shows it.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from simulator.redaction import may_hold_a_secret, redacted


def redact_logs(folder: Path) -> None:
    """Take what must not be shown out of every log of a folder, as far as the disk lets us."""
    for log in sorted(folder.glob("*.log")):
        with suppress(OSError):  # a full disk must not cost the verdict
            if any(line != shown for line, shown in _lines(log)):
                part = log.with_name(f".{log.name}.{os.getpid()}.part")
                with part.open("wb") as file:
                    file.writelines(shown for _, shown in _lines(log))
                part.replace(log)


def _lines(log: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield every line as it is and as it may be shown."""
    with log.open("rb") as file:
        for line in file:
            text = line.decode("latin-1")  # whatever it is written in, its bytes come back
            yield line, redacted(text).encode("latin-1") if may_hold_a_secret(text) else line
