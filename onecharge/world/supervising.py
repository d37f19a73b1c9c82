"""The process that owns every process of a run, and ends them all when the harness is gone.

Rule 1: its life hangs on its standard input. When that closes, however the harness ended,
        everything is stopped in the reverse order of its first start and owned folders go.
Rule 2: a name stands for a process, its group and whatever they left behind in other groups;
        it has *exited* when nothing of all that is left.
Rule 3: one thread, one loop; signals only wake it up.
Rule 4: it runs as a script and knows only the standard library and psutil: it is up in
        milliseconds, and what the harness imports cannot break it.

In come orders and out go news, one JSON object a line:

    {"order": "spawn", "number", "name", "argv", "env", "cwd", "log", "user", "farewell"}
    {"order": "stop", "name", "farewell"}
    {"order": "own", "number", "folder"}
    {"order": "end"}

    {"news": "started", "number", "name", "pid"}    {"news": "refused", "number", "reason"}
    {"news": "owned", "number"}                     {"news": "exited", "name", "code"}

A farewell is a list of [signal, seconds of grace]; after the last one comes SIGKILL.
"""

import ctypes
import errno
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

MARK = "ONECHARGE_SUPERVISED_AS"  # in every child's environment: its children cannot shed it
PR_SET_CHILD_SUBREAPER = 36

IDLE_S = 0.5  # how often to look whether the harness still lives, when nothing else happens
WATCHFUL_S = 0.02  # the same while something is being ended
REMAINS_S = 5.0  # how long killed processes may take to be gone before we go on without them
ABANDONED_GRACE_S = 1.0  # of a farewell when the harness was killed: nobody waits for manners

REASONS = {
    errno.ENOENT: "command not found",
    errno.EACCES: "not executable, or not to be reached",
    errno.ENOEXEC: 'not a program (a script begins with "#!")',
}


def main(harness: int) -> None:
    """Own processes until the harness, named by its process id, is gone or says the end."""
    Supervision(harness).run()


@dataclass
class Child:
    """One named process; ``steps`` is what is still to be tried to stop it."""

    name: str
    process: "subprocess.Popen[bytes]"
    mark: str
    farewell: list[tuple[int, float]]
    steps: list[tuple[int, float]] = field(default_factory=list)
    stopping: bool = False
    patient_until: float = 0.0
    code: int | None = None
    remains_until: float = 0.0

    def say(self, farewell: list[tuple[int, float]]) -> None:
        if not self.stopping:
            self.stopping, self.steps, self.patient_until = True, list(farewell), 0.0

    def hurry(self, now: float) -> None:
        self.patient_until = min(self.patient_until, now + ABANDONED_GRACE_S)
        self.farewell, self.steps = _shortened(self.farewell), _shortened(self.steps)


class Supervision:
    def __init__(self, harness: int) -> None:
        self.harness = harness
        self.children: dict[str, Child] = {}
        self.places: dict[str, int] = {}  # a restarted name keeps its place in the order
        self.folders: list[Path] = []
        self.started = 0
        self.ending = False
        self.abandoned = False
        self.unread = b""
        self.adopts_orphans = _become_subreaper()
        self.selector = selectors.DefaultSelector()

    def run(self) -> None:
        bell = _signals_wake_us_up()
        self.selector.register(bell, selectors.EVENT_READ)
        self.selector.register(0, selectors.EVENT_READ)
        try:
            while self.children or not self.ending:
                self._listen(bell)
                self._reap(time.monotonic())
                self._advance(time.monotonic())
        finally:
            self._sweep()
            for folder in reversed(self.folders):
                shutil.rmtree(folder, ignore_errors=True)

    # Listening

    def _listen(self, bell: int) -> None:
        busy = any(child.stopping or child.code is not None for child in self.children.values())
        for ready, _ in self.selector.select(WATCHFUL_S if busy else IDLE_S):
            if ready.fd != bell:
                self._read_orders()
            elif signal.SIGTERM in os.read(bell, 4096):
                self.ending = True
        # A forked child of the harness may hold our input open after its death.
        if os.getppid() != self.harness:
            self._abandon()

    def _read_orders(self) -> None:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            self.selector.unregister(0)
            self._abandon()
        *lines, self.unread = (self.unread + chunk).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))

    def _abandon(self) -> None:
        """End what is left in haste: nobody waits for it any more."""
        if not self.abandoned:
            self.ending = self.abandoned = True
            for child in self.children.values():
                child.hurry(time.monotonic())

    def _obey(self, order: dict[str, Any]) -> None:
        match order["order"]:
            case "spawn":
                self._spawn(order)
            case "stop":
                if child := self.children.get(order["name"]):
                    child.say(_steps(order["farewell"]))
            case "own":
                self.folders.append(Path(order["folder"]))
                _tell(news="owned", number=order["number"])
            case "end":
                self.ending = True
            case unknown:
                raise AssertionError(f"not an order: {unknown}")

    # Starting

    def _spawn(self, order: dict[str, Any]) -> None:
        name, number = order["name"], order["number"]
        self.started += 1
        mark = f"{os.getpid()}.{self.started}"
        if self.ending or name in self.children:
            reason = "the run is ending" if self.ending else "it is running already"
            _tell(news="refused", number=number, reason=reason)
            return
        try:
            process = _popen(order, mark)
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            _tell(news="refused", number=number, reason=_reason(order, problem))
            return
        self.places.setdefault(name, len(self.places))
        self.children[name] = Child(name, process, mark, _steps(order["farewell"]))
        _tell(news="started", number=number, name=name, pid=process.pid)

    # Ending

    def _reap(self, now: float) -> None:
        """Take the return codes of children, and of orphans whom we adopted."""
        leaders = {child.process.pid: child for child in self.children.values()}
        for pid, status in _dead_children():
            if child := leaders.get(pid):
                child.code = child.process.returncode = os.waitstatus_to_exitcode(status)
                grace_ends = child.patient_until if child.stopping else now
                child.remains_until = max(now, grace_ends) + REMAINS_S

    def _advance(self, now: float) -> None:
        if self.ending and self.children:
            last = max(self.children.values(), key=lambda child: self.places[child.name])
            last.say(last.farewell)
        for child in list(self.children.values()):
            if child.code is None:
                _insist(child, now)
            elif self._nothing_left_of(child, now):
                del self.children[child.name]
                _tell(news="exited", name=child.name, code=child.code)

    def _nothing_left_of(self, child: Child, now: float) -> bool:
        """End what a dead leader left; a group that was asked to stop keeps its grace."""
        if now >= child.remains_until:
            return True  # unkillable, or not ours to kill: do not wait for ever
        if _signal_group(child, 0):
            if not (child.stopping and now < child.patient_until):
                _signal_group(child, signal.SIGKILL)
            return False
        left_behind = [orphan for orphan in self._orphans() if _mark_of(orphan) == child.mark]
        for orphan in left_behind:
            _kill(orphan)
        return not left_behind

    def _orphans(self) -> list[psutil.Process]:
        """Those who may be strayed relatives: adopted by us, or anybody where none can be."""
        strangers = psutil.Process().children() if self.adopts_orphans else psutil.process_iter()
        leaders = {child.process.pid for child in self.children.values()}
        return [process for process in strangers if process.pid not in leaders]

    def _sweep(self) -> None:
        """Kill every descendant that is left, also after a bug of ours."""
        give_up = time.monotonic() + REMAINS_S
        while descendants := psutil.Process().children(recursive=True):
            for process in descendants:
                _kill(process)
            list(_dead_children())
            if time.monotonic() >= give_up:
                return
            time.sleep(WATCHFUL_S)


def _insist(child: Child, now: float) -> None:
    """Take the next step of a farewell whose last one was given its time."""
    if not child.stopping or now < child.patient_until:
        return
    if child.steps:
        sign, grace_s = child.steps.pop(0)
        child.patient_until = now + grace_s
        _signal_group(child, sign)
    else:
        _signal_group(child, signal.SIGKILL)


def _signal_group(child: Child, sign: int) -> bool:
    """Signal the child's whole group; whether there still was one."""
    try:
        os.killpg(child.process.pid, sign)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.kill()


def _mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except (psutil.Error, OSError):
        return None


def _dead_children() -> Iterator[tuple[int, int]]:
    with suppress(ChildProcessError):
        while (dead := os.waitpid(-1, os.WNOHANG))[0]:
            yield dead


def _popen(order: dict[str, Any], mark: str) -> "subprocess.Popen[bytes]":
    user: int | None = order["user"]
    log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        return subprocess.Popen(  # noqa: S603  # starting what the user named is the job
            order["argv"],
            env={**order["env"], MARK: mark},
            cwd=order["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
            group=None if user is None else _group_of(user),
            extra_groups=None if user is None else [],
        )
    finally:
        os.close(log)


def _group_of(user: int) -> int:
    import pwd  # noqa: PLC0415  # needed by root alone

    try:
        return pwd.getpwuid(user).pw_gid
    except KeyError:
        return user


def _reason(order: dict[str, Any], problem: Exception) -> str:
    """Say why a process could not be started, in words for the person who named it."""
    command, cwd, log, user = order["argv"][0], order["cwd"], order["log"], order["user"]
    if not isinstance(problem, OSError):
        return str(problem)
    why = problem.strerror or str(problem)
    if problem.filename == log:
        return f"cannot write the log {log}: {why}"
    if not Path(cwd).is_dir():
        return f"no such folder: {cwd}"
    if problem.errno == errno.EPERM and user is not None:
        return f"cannot run {command} as user {user}: {why}"
    if problem.errno == errno.ENOENT and _exists(order):
        return f"the interpreter that {command} names in its first line does not exist"
    return f"{REASONS.get(problem.errno or 0, why)}: {command}"


def _exists(order: dict[str, Any]) -> bool:
    command = order["argv"][0]
    if "/" in command:
        return Path(order["cwd"], command).exists()
    return shutil.which(command, path=order["env"].get("PATH")) is not None


def _shortened(farewell: list[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(sign, min(grace_s, ABANDONED_GRACE_S)) for sign, grace_s in farewell]


def _steps(farewell: list[list[float]]) -> list[tuple[int, float]]:
    return [(int(sign), grace_s) for sign, grace_s in farewell]


def _tell(**news: object) -> None:
    # When nobody reads any more there is still work to be done: the ending.
    with suppress(OSError):
        os.write(1, json.dumps(news).encode() + b"\n")


def _become_subreaper() -> bool:
    """Have Linux hand us every orphaned descendant, so that a daemon cannot slip away."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _signals_wake_us_up() -> int:
    """Return a descriptor that becomes readable with the numbers of arrived signals."""
    bell, rope = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(rope, False)
    signal.set_wakeup_fd(rope, warn_on_full_buffer=False)
    for sign in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A handler, not SIG_IGN: children would inherit that.
        signal.signal(sign, lambda _number, _frame: None)
    return bell


if __name__ == "__main__":
    main(int(sys.argv[1]))
