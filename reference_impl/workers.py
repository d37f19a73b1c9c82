"""A parent that has loaded everything and forks the processes that serve.

Rule 1: the parent runs no event loop and no thread, so a fork copies nothing half done.
Rule 2: workers listen at one address, each with a socket of its own; the kernel shares out the
        connections. (Windows has neither fork nor shared ports; there, start several processes.)
Rule 3: a worker that dies is replaced: at once if it served, after a moment if it could not. As
        long as none ever could, the first that fails ends them all: its reason is the same for
        the next one.
Rule 4: workers end with their parent, however it went: the pipe between them closes.
"""

import logging
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from prometheus_client import values

from reference_impl.metrics import SHARED_BY_WORKERS

log = logging.getLogger(__name__)

Serve = Callable[[int, Callable[[], None]], int]
"""Serves until the file descriptor closes, says when it is ready, returns the exit code."""

READY: Final = b"."
PAUSE_S: Final = 0.5


class Workers:
    """The processes of one service, and the parent's only concern."""

    def __init__(self, serve: Serve, number: int) -> None:
        self.serve = serve
        self.number = number
        self._ready: dict[int, int] = {}  # by pid: where a worker says that it is ready
        self._stopping = False
        self._ever_served = False
        # Never written to: it closes when the parent is gone, and that is the message.
        self._alive_in, self._alive_out = os.pipe()

    def run(self) -> int:
        """Keep so many workers running until asked to stop; return the exit code."""
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        for _ in range(self.number):
            self._fork()
        code = 0
        while self._ready:
            pid, status = os.wait()
            served = os.read(self._ready[pid], 1) == READY
            os.close(self._ready.pop(pid))
            ended = os.waitstatus_to_exitcode(status)
            if self._stopping:
                continue
            log.warning("worker ended", extra={"pid": pid, "code": ended})
            if served:
                self._ever_served = True
                self._fork()
            elif self._ever_served or self._one_serves():
                time.sleep(PAUSE_S)
                self._fork()
            else:
                code = ended if ended > 0 else 1
                self._stop(signal.SIGTERM, None)
        return code

    def _fork(self) -> None:
        ready_in, ready_out = os.pipe()
        pid = os.fork()
        if pid:
            os.close(ready_out)
            self._ready[pid] = ready_in
            if self._stopping:  # asked between the fork and here
                os.kill(pid, signal.SIGTERM)
            return
        code = 1
        try:
            os.close(self._alive_out)
            for other in (ready_in, *self._ready.values()):
                os.close(other)
            for asked in (signal.SIGTERM, signal.SIGINT):
                signal.signal(asked, signal.SIG_DFL)
            code = self.serve(self._alive_in, lambda: _say_ready(ready_out))
        finally:
            sys.stderr.flush()
            os._exit(code)  # the parent's own endings are not ours to run

    def _one_serves(self) -> bool:
        ready, _, _ = select.select(list(self._ready.values()), [], [], 0)
        return bool(ready)

    def _stop(self, _number: int, _frame: object) -> None:
        self._stopping = True
        for pid in self._ready:
            os.kill(pid, signal.SIGTERM)


def run_workers(serve: Serve, number: int) -> int:
    """Run so many workers. Their counters meet in a folder that is gone with the parent."""
    with ExitStack() as closing:
        if SHARED_BY_WORKERS not in os.environ:
            folder = closing.enter_context(tempfile.TemporaryDirectory(prefix="reference-metrics-"))
            os.environ[SHARED_BY_WORKERS] = folder
            # It was chosen at the import, without that variable.
            values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]
        return Workers(serve, number).run()


def reserved_port(host: str, port: int) -> tuple[socket.socket, int]:
    """Return a bound socket that keeps a port for sockets which share it, and its number."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    keeper = socket.socket(family, socket.SOCK_STREAM)
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    keeper.bind((host, port))
    bound: int = keeper.getsockname()[1]
    return keeper, bound


def _say_ready(file: int) -> None:
    os.write(file, READY)
