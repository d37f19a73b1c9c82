"""The service's processes: started, found ready, killed, started again.

Rule 1: each instance calls the provider through a listening address of its own, so that
        a provider call tells which process made it without asking anybody.
Rule 2: every start and every kill is a record of the history before the next step is taken.
"""

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from onecharge.service_file import ServiceFile
from onecharge.templates import filled_text
from onecharge.world.commands import Commands
from onecharge.world.ports import LOOPBACK, free_port
from onecharge.world.supervisor import SpawnError, Supervisor
from simulator.core.journal import Entry, Sink

_POLL_S = 0.02
_LOG_LINES_SHOWN = 12


class NotReady(Exception):
    """The service did not start or did not become ready; the message says why."""


@dataclass
class Instance:
    """One process of the service."""

    name: str
    port: int
    url: str
    log: Path
    pid: int = 0
    alive: bool = False


class ServiceProcesses:
    """All instances of the service under test."""

    def __init__(
        self,
        service_file: ServiceFile,
        *,
        supervisor: Supervisor,
        sink: Sink,
        provider_urls: Mapping[str, str],
        values: Mapping[str, str],
        logs: Path,
    ) -> None:
        self._file = service_file
        self._supervisor = supervisor
        self._sink = sink
        self._provider_urls = provider_urls
        self._values = values
        self._turns = itertools.count()
        ports: set[int] = set()
        while len(ports) < len(provider_urls):
            ports.add(free_port())
        self.instances = [
            Instance(name, port, f"http://{LOOPBACK}:{port}", logs / f"{name}.log")
            for name, port in zip(provider_urls, ports, strict=True)
        ]

    def __repr__(self) -> str:
        states = ", ".join(f"{i.name} {'up' if i.alive else 'down'}" for i in self.instances)
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
    def commands(self) -> Commands:
        """What runs the service file's short commands, as the first instance would."""
        first = self.instances[0]
        return Commands(self._file.service.folder, self._env_of(first), self._values_of(first))

    def instance(self, name: str) -> Instance:
        """Return the instance of that name."""
        return next(instance for instance in self.instances if instance.name == name)

    async def start(self) -> None:
        """Start what is not running and return when every instance answers its ready request.

        Raises ``NotReady`` with the end of the log when a process dies or stays silent.
        """
        down = [instance for instance in self.instances if not instance.alive]
        for instance in down:
            await self._spawn(instance)
        await asyncio.gather(*(self._until_ready(instance) for instance in down))

    def kill(self, name: str) -> None:
        """Kill one instance at once, as a machine failure would: SIGKILL, no farewell."""
        instance = self.instance(name)
        if not instance.alive:
            return
        self._supervisor.kill(name)
        instance.alive = False
        value = {"what": "process", "pid": instance.pid, "signal": signal.SIGKILL.name}
        self._sink(Entry(f"process:{name}", "crash", value))

    async def restart(self, name: str) -> None:
        """Start a killed instance again and wait until it is ready."""
        instance = self.instance(name)
        if instance.alive:
            return
        await self._supervisor.exited(name)
        await self._spawn(instance)
        await self._until_ready(instance)

    async def stop(self) -> None:
        """Ask every instance to finish; whoever does not is killed."""
        running = [instance for instance in self.instances if instance.alive]
        await asyncio.gather(*(self._supervisor.stop(instance.name) for instance in running))
        for instance in running:
            instance.alive = False

    async def _spawn(self, instance: Instance) -> None:
        values = {
            **self._values,
            "python": sys.executable,
            "host": LOOPBACK,
            "port": str(instance.port),
            "instance": instance.name,
            "provider_url": self._provider_urls[instance.name],
        }
        service = self._file.service
        assert service.command is not None
        env = {name: filled_text(text, values) for name, text in service.env.items()}
        try:
            instance.pid = await self._supervisor.spawn(
                instance.name,
                [filled_text(word, values) for word in service.command],
                env={**os.environ, **env},
                cwd=service.folder,
                log=instance.log,
            )
        except SpawnError as error:
            raise NotReady(f"service.command: {error}") from None
        instance.alive = True
        value = {"what": "process", "pid": instance.pid}
        self._sink(Entry(f"process:{instance.name}", "restart", value))

    def _values_of(self, instance: Instance) -> dict[str, str]:
        return {
            **self._values,
            "python": sys.executable,
            "host": LOOPBACK,
            "port": str(instance.port),
            "instance": instance.name,
            "provider_url": self._provider_urls[instance.name],
        }

    def _env_of(self, instance: Instance) -> dict[str, str]:
        values = self._values_of(instance)
        return {name: filled_text(text, values) for name, text in self._file.service.env.items()}

    async def _until_ready(self, instance: Instance) -> None:
        url = instance.url + filled_text(self._file.service.ready, self._values)
        within_s = self._file.service.ready_within_s
        last = "no answer"
        try:
            async with asyncio.timeout(within_s), aiohttp.ClientSession() as session:
                while self._supervisor.running(instance.name):
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
            raise NotReady(
                f"service.ready: {instance.name} was not ready at {url} within "
                f"{within_s:g} s (last: {last}){_end_of(instance.log)}"
            ) from None
        code = await self._supervisor.exited(instance.name)
        instance.alive = False
        raise NotReady(
            f"service.command: {instance.name} ended with code {code} before it was ready"
            f"{_end_of(instance.log)}"
        )


def _end_of(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    if not lines:
        return f"; its log is empty: {log}"
    shown = "\n".join(f"    {line}" for line in lines[-_LOG_LINES_SHOWN:])
    return f"; the end of {log}:\n{shown}"
