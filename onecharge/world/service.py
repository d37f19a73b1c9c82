"""The service under test: its processes started, found ready, killed, started again.

Rule 1: each process calls the provider through a listening address of its own, so that
        a provider call tells which process made it without asking anybody.
Rule 2: every start and every kill is a record of the history before the next step is taken.
"""

import asyncio
import itertools
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import aiohttp

from onecharge.service_file import Service
from onecharge.templates import filled_text
from onecharge.world.processes import Process, end_of, inherited_secret, processes_of, setups_of
from onecharge.world.supervisor import SpawnError, Supervisor
from simulator.core.journal import Entry, Sink

_POLL_S = 0.02


class NotReady(Exception):
    """The service did not start or did not become ready; the message says why."""


class Services(Protocol):
    """What can be done with a service, whoever started it."""

    @property
    def url(self) -> str:
        """Where the service is said to listen: its first instance."""

    @property
    def urls(self) -> list[str]:
        """Where the instances listen, in order."""

    @property
    def env(self) -> Mapping[str, str]:
        """What of its environment we chose, as its first instance has it."""

    def next_url(self) -> str:
        """Return the running instances in turn; any of them when none runs."""

    async def start(self) -> None:
        """Have everything run and be ready. Raises ``NotReady``."""

    def kill(self, name: str) -> None:
        """Kill one process at once, as a machine failure would."""

    async def restart(self, name: str) -> None:
        """Start a killed process again and wait until it is ready."""

    async def stop(self) -> None:
        """End whatever we started of it."""

    async def replace(self, name: str) -> None:
        """Ask a process to finish, start it anew, and wait until it is ready."""

    @property
    def names(self) -> list[str]:
        """The processes that we can kill."""

    def listening_at(self, url: str) -> str:
        """Return the process that listens there."""

    def fallen(self) -> str | None:
        """Tell of a process that ended though nobody killed it, with the end of its log."""

    def serving(self, source: str) -> str:
        """Return the process behind a provider call; a browser is served by the first instance."""

    def last_words(self, url: str) -> str:
        """Return the end of the log of the instance that listens there, if we have it."""


class ServiceProcesses:
    """All processes of a service that we start."""

    def __init__(
        self,
        service: Service,
        *,
        supervisor: Supervisor,
        sink: Sink,
        provider_urls: Mapping[str, str],
        values: Mapping[str, str],
        logs: Path,
    ) -> None:
        self._service = service
        self._supervisor = supervisor
        self._sink = sink
        self._turns = itertools.count()
        self._killed: set[str] = set()  # and not started again since
        self._restarting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.processes = processes_of(service, provider_urls, values, logs)
        self.instances = [process for process in self.processes if process.url]
        first = self.instances[0]
        self._ready = filled_text(service.ready, values)
        self._setups = setups_of(
            service, first, {**values, "provider_url": provider_urls[first.name]}
        )

    def __repr__(self) -> str:
        states = ", ".join(f"{each.name} {_state(each)}" for each in self.processes)
        return f"<ServiceProcesses {states}>"

    @property
    def url(self) -> str:
        """Where the service is said to listen: its first instance."""
        return self.instances[0].url

    def next_url(self) -> str:
        """Return the running instances in turn; any of them when none runs."""
        turn = next(self._turns)
        running = [instance for instance in self.instances if instance.alive] or self.instances
        return running[turn % len(running)].url

    @property
    def urls(self) -> list[str]:
        """Where the instances listen, in order."""
        return [instance.url for instance in self.instances]

    @property
    def env(self) -> Mapping[str, str]:
        """What of its environment we chose, as its first instance has it."""
        return self.instances[0].env

    def serving(self, source: str) -> str:
        """Return the process behind a provider call; a browser is served by the first instance."""
        names = [process.name for process in self.processes]
        return source if source in names else self.instances[0].name

    def process(self, name: str) -> Process:
        """Return the process of that name."""
        return next(process for process in self.processes if process.name == name)

    async def start(self) -> None:
        """Start what is not running and return when every instance answers its ready request.

        The first time, set-up commands run before. Raises ``NotReady`` with the end of the log
        when a process dies or stays silent.
        """
        while self._setups:
            await self._set_up(self._setups[0])
            del self._setups[0]
        self._mourn()
        down = [process for process in self.processes if not process.alive]
        for process in down:
            await self._spawn(process)
        await asyncio.gather(*(self._until_ready(process) for process in down))
        if fallen := self.fallen():
            raise NotReady(fallen)

    def kill(self, name: str) -> None:
        """Kill one process at once, as a machine failure would: SIGKILL, no farewell."""
        process = self.process(name)
        if not process.alive:
            return
        self._supervisor.kill(name)
        process.alive = False
        self._killed.add(name)
        value = {"what": "process", "pid": process.pid, "signal": signal.SIGKILL.name}
        self._sink(Entry(f"process:{name}", "crash", value))

    async def restart(self, name: str) -> None:
        """Start a killed process again and wait until it is ready.

        If it is killed once more meanwhile, that is for whoever starts it then.
        """
        process = self.process(name)
        async with self._restarting[name]:
            if process.alive:
                return
            await self._supervisor.exited(name)
            await self._spawn(process)
            try:
                await self._until_ready(process)
            except NotReady:
                if name not in self._killed:
                    raise

    async def replace(self, name: str) -> None:
        """Ask a process to finish, start it anew, and wait until it is ready."""
        process = self.process(name)
        process.alive = False  # nothing new is sent there
        await self._supervisor.stop(name)
        value = {"what": "process", "pid": process.pid, "signal": signal.SIGTERM.name}
        self._sink(Entry(f"process:{name}", "crash", value))
        await self._spawn(process)
        await self._until_ready(process)

    @property
    def names(self) -> list[str]:
        """The processes that we can kill."""
        return [process.name for process in self.processes]

    def listening_at(self, url: str) -> str:
        """Return the process that listens there."""
        return next(instance.name for instance in self.instances if instance.url == url)

    async def stop(self) -> None:
        """Ask every process to finish; whoever does not is killed."""
        running = [process for process in self.processes if process.alive]
        await asyncio.gather(*(self._supervisor.stop(process.name) for process in running))
        for process in running:
            process.alive = False

    def fallen(self) -> str | None:
        """Tell of a process that ended though nobody killed it, with the end of its log."""
        for process in self._fallen():
            return f"{_field_of(process)}: {process.name} has ended{end_of(process.log)}"
        return None

    def last_words(self, url: str) -> str:
        """Return the end of the log of the instance that listens there."""
        return next(end_of(instance.log) for instance in self.instances if instance.url == url)

    def _fallen(self) -> list[Process]:
        running = self._supervisor.running
        return [each for each in self.processes if each.alive and not running(each.name)]

    def _mourn(self) -> None:
        """Note who ended by itself, so that it is started again as any supervisor would."""
        for process in self._fallen():
            process.alive = False
            value = {"what": "process", "pid": process.pid, "signal": None}
            self._sink(Entry(f"process:{process.name}", "crash", value))

    async def _set_up(self, setup: Process) -> None:
        await self._run(setup)
        within_s = self._service.setup_within_s
        try:
            async with asyncio.timeout(within_s):
                code = await self._supervisor.exited(setup.name)
        except TimeoutError:
            self._supervisor.kill(setup.name)
            raise NotReady(
                f"{_field_of(setup)}: it had not ended after {within_s:g} s "
                f"(service.setup_within_s){end_of(setup.log)}"
            ) from None
        if code:
            raise NotReady(f"{_field_of(setup)}: it ended with code {code}{end_of(setup.log)}")

    async def _spawn(self, process: Process) -> None:
        await self._run(process)
        process.alive = True
        self._killed.discard(process.name)
        value = {"what": "process", "pid": process.pid}
        self._sink(Entry(f"process:{process.name}", "restart", value))

    async def _run(self, process: Process) -> None:
        if secret := inherited_secret(process.env):
            raise NotReady(
                f"service.env: {process.name} would inherit {secret} from your environment, which "
                f"holds a live key; unset it, or give {secret} a test value in [service.env]"
            )
        try:
            process.pid = await self._supervisor.spawn(
                process.name,
                process.argv,
                env={**os.environ, **process.env},
                cwd=self._service.folder,
                log=process.log,
            )
        except SpawnError as error:
            raise NotReady(f"{_field_of(process)}: {error}") from None

    async def _until_ready(self, process: Process) -> None:
        """Wait until an instance answers; of a worker it is only known that it runs."""
        if not process.url:
            return
        try:
            await until_answered(
                process.url + self._ready,
                self._service.ready_within_s,
                still=lambda: self._supervisor.running(process.name),
            )
        except NotReady as reason:
            raise NotReady(f"service.ready: {process.name} {reason}{end_of(process.log)}") from None
        if self._supervisor.running(process.name):
            return
        code = await self._supervisor.exited(process.name)
        process.alive = False
        raise NotReady(
            f"service.command: {process.name} ended with code {code} before it was ready"
            f"{end_of(process.log)}"
        )


async def until_answered(url: str, within_s: float, still: Callable[[], bool]) -> None:
    """Ask until the answer is below 400, or until ``still`` is false.

    Raises ``NotReady`` when time is up, and says what came last.
    """
    last = "no answer"
    try:
        async with asyncio.timeout(within_s), aiohttp.ClientSession() as session:
            while still():
                try:
                    async with session.get(url) as answer:
                        if answer.status < 400:
                            return
                        last = f"HTTP {answer.status}"
                except aiohttp.ClientConnectorError as error:
                    last = error.os_error.strerror or "no connection"
                except aiohttp.ClientError as error:
                    last = str(error) or type(error).__name__
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise NotReady(f"was not ready at {url} within {within_s:g} s (last: {last})") from None


def _field_of(process: Process) -> str:
    """Name the field of the service file that this process is made of."""
    kind, _, number = process.name.rpartition("-")
    if kind == "setup":
        return f"service.setup[{number}]"
    return "service.command" if process.url else "service.workers.command"


def _state(process: Process) -> str:
    return "up" if process.alive else "down"
