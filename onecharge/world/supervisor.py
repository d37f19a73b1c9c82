"""The harness's side of the process that owns every process of a run.

Rule 1: the supervisor starts and reaps; the harness asks, and kills by itself, because a kill
        at a chosen moment must not wait in a queue.
Rule 2: nothing outlives a run. The supervisor stops everything when the harness is gone,
        however it went; the harness kills everything if the supervisor is gone.
Rule 3: a name can be started again after it exited, and keeps its place in the order of ends.
"""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from types import TracebackType
from typing import Any, Self

Farewell = Sequence[tuple[Signals, float]]
"""What is sent to end a process, each with its seconds of grace; after the last, SIGKILL."""

POLITE: Farewell = ((SIGTERM, 5.0),)

_SCRIPT = Path(__file__).with_name("supervising.py")


class SupervisorError(Exception):
    """A process could not be started or watched.

    SupervisorError
     +-- SpawnError       the command, folder, log or user is wrong: says which
     +-- SupervisorGone   the supervisor itself has died, and everything with it
    """


class SpawnError(SupervisorError):
    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class SupervisorGone(SupervisorError):  # what it is, as one would say it
    def __init__(self) -> None:
        super().__init__("the supervisor process has ended, and every process with it")


@dataclass
class _Child:
    pid: int
    code: int | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, code: int | None) -> None:
        self.code = code
        self.ended.set()


class Supervisor:
    """Starts, watches and ends processes by name, and leaves none behind."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._children: dict[str, _Child] = {}
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._gone = False
        self._reader = asyncio.create_task(self._read_news(), name="supervisor news")

    @classmethod
    async def start(cls) -> Self:
        # -P keeps our own folder off its path; a session of its own keeps Ctrl-C away from it.
        argv = (sys.executable, "-P", str(_SCRIPT), str(os.getpid()))
        return cls(
            await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, start_new_session=True
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        user: int | None = None,
        farewell: Farewell = POLITE,
    ) -> int:
        """Start a process in a session of its own, its output appended to ``log``.

        Return its process id, which is its group's as well. The environment is ``env`` and
        nothing else (and one variable that marks it as ours). ``farewell`` is how it will be
        ended with the run. Raises SpawnError, which says what is wrong.
        """
        assert not self.running(name), f"{name} is running already"
        if not argv:
            raise SpawnError(name, "the command is empty")
        answer = await self._ask(
            order="spawn",
            name=name,
            argv=list(argv),
            env=dict(env),
            cwd=_absolute(cwd),
            log=_absolute(log),
            user=user,
            farewell=list(farewell),
        )
        if answer["news"] == "refused":
            raise SpawnError(name, answer["reason"])
        return int(answer["pid"])

    def kill(self, name: str) -> None:
        """SIGKILL the whole group, now; nothing happens if it has exited already.

        Await ``exited`` before you rely on its port or its locks being free.
        """
        if self.running(name):
            _kill_group(self._children[name])

    async def exited(self, name: str) -> int:
        """Wait until nothing of it is left; the return code as ``subprocess`` gives it."""
        child = self._children[name]
        await child.ended.wait()
        if child.code is None:
            raise SupervisorGone
        return child.code

    def running(self, name: str) -> bool:
        """Whether it was started and its end has not been seen yet."""
        return name in self._children and not self._children[name].ended.is_set()

    async def stop(self, name: str, grace_s: float = 5.0, signal: Signals = SIGTERM) -> int:
        """End it gently; kill what is left of its group after the grace. The return code."""
        if self.running(name):
            self._send(order="stop", name=name, farewell=[(signal, grace_s)])
        return await self.exited(name)

    async def own_folder(self, folder: Path) -> None:
        """Have the folder removed when the supervisor ends, however the harness ended."""
        await self._ask(order="own", folder=_absolute(folder))

    async def close(self) -> None:
        """Stop everything, the last started first, and remove the owned folders."""
        if not self._gone:
            self._send(order="end")
        await self._process.wait()
        await self._reader

    # The conversation

    async def _ask(self, **order: object) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        try:
            self._send(number=number, **order)
            return await answer
        finally:
            del self._asked[number]

    def _send(self, **order: object) -> None:
        if self._gone:
            raise SupervisorGone
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")

    async def _read_news(self) -> None:
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                self._hear(json.loads(line))
        finally:
            self._mourn()

    def _hear(self, news: dict[str, Any]) -> None:
        match news["news"]:
            case "started":  # noted here: whoever asked may have been cancelled since
                self._children[news["name"]] = _Child(news["pid"])
            case "exited":
                self._children[news["name"]].end(news["code"])
        if (answer := self._asked.get(news.get("number", 0))) and not answer.done():
            answer.set_result(news)

    def _mourn(self) -> None:
        self._gone = True
        for child in self._children.values():
            if not child.ended.is_set():
                _kill_group(child)
                child.end(None)
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(SupervisorGone())


def _absolute(path: Path) -> str:
    return str(path.absolute())


def _kill_group(child: _Child) -> None:
    # It may have died this instant. That its number names another group already would take
    # the kernel a full round of process ids within the milliseconds until we hear of it.
    with suppress(ProcessLookupError):
        os.killpg(child.pid, SIGKILL)
