"""The short commands that a service file names: they print something, and end.

Rule 1: a command runs in the service's folder and with the service's environment.
Rule 2: a command that does not end in time is killed, with whatever it started.
Rule 3: what it printed is its answer; how it failed is one sentence.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onecharge.templates import filled_text
from simulator.redaction import redacted

_LAST_WORDS = 200


class CommandFailed(Exception):
    """A command did not do what it is for; the message says how."""


@dataclass(frozen=True)
class Commands:
    """Runs commands where the service lives. ``values`` are those of the world."""

    folder: Path = field(default_factory=Path)
    env: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    async def output(
        self, command: Sequence[str], within_s: float, values: Mapping[str, Any] | None = None
    ) -> str:
        """Return what a command prints. Raises ``CommandFailed``."""
        known = {**self.values, "python": sys.executable, **(values or {})}
        words = [filled_text(word, known) for word in command]
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                cwd=self.folder,
                env={**os.environ, **self.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(f"{words[0]}: cannot be started: {error.strerror}") from None
        try:
            async with asyncio.timeout(within_s):
                printed, complained = await process.communicate()
        except TimeoutError:
            raise CommandFailed(f"{words[0]}: did not end within {within_s:g} s") from None
        finally:
            await _end(process)
        if process.returncode:
            last = redacted(complained.decode("utf-8", errors="replace")).strip()[-_LAST_WORDS:]
            raise CommandFailed(f"{words[0]}: ended with code {process.returncode}: {last}")
        return printed.decode("utf-8", errors="replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a command that still runs, with its children."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.communicate()
