"""The processes that are made of a service file: instances with a port, workers without one.

Each has a name, and a listening address of the provider's of its own.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from onecharge.service_file import Service, Worker
from onecharge.templates import filled_text
from onecharge.world.ports import LOOPBACK, free_port
from simulator.redaction import found_in, redacted

_LOG_LINES_SHOWN = 12


@dataclass
class Process:
    """One process of the service; a worker has no ``url``."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    url: str = ""
    pid: int = 0
    alive: bool = False


def names_of(service: Service) -> list[str]:
    """Return the names of all processes, instances first."""
    return [*_instances(service), *(name for name, _ in _workers(service))]


def processes_of(
    service: Service, provider_urls: Mapping[str, str], values: Mapping[str, str], logs: Path
) -> list[Process]:
    """Return all processes, instances first, each with its own values filled in.

    ``values`` are those that all share.
    """
    assert service.command is not None
    ports: set[int] = set()
    while len(ports) < service.instances:
        ports.add(free_port())
    urls = {
        name: f"http://{LOOPBACK}:{port}"
        for name, port in zip(_instances(service), ports, strict=True)
    }
    first = urls["service-1"]
    made = []
    for name, command, own in _commands(service):
        url = urls.get(name, "")
        known = {
            **values,
            "port": url.rpartition(":")[2],
            "instance": name,
            "provider_url": provider_urls[name],
            "service_url": url or first,
        }
        env = {name: filled_text(text, known) for name, text in {**service.env, **own}.items()}
        argv = tuple(filled_text(word, known) for word in command)
        made.append(Process(name, argv, env, logs / f"{name}.log", url))
    return made


def setups_of(service: Service, first: Process, values: Mapping[str, str]) -> list[Process]:
    """Return the commands that prepare the first start, in the environment of an instance."""
    known = {
        **values,
        "port": first.url.rpartition(":")[2],
        "instance": first.name,
        "service_url": first.url,
    }
    return [
        Process(
            f"setup-{number}",
            tuple(filled_text(word, known) for word in command),
            first.env,
            first.log.with_name(f"setup-{number}.log"),
        )
        for number, command in enumerate(service.setup, start=1)
    ]


def inherited_secret(env: Mapping[str, str]) -> str | None:
    """Name a variable of our own environment that a process would inherit and must not."""
    return next(
        (
            name
            for name, text in os.environ.items()
            if name not in env and any(found.kind == "live key" for found in found_in(text))
        ),
        None,
    )


def end_of(log: Path) -> str:
    """Return the end of a log, to stand behind a sentence."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    if not lines:
        return f"; its log is empty: {log}"
    shown = "\n".join(f"    {redacted(line)}" for line in lines[-_LOG_LINES_SHOWN:])
    return f"; the end of {log}:\n{shown}"


def _commands(service: Service) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, str]]]:
    """Yield name, command and own environment of every process."""
    assert service.command is not None
    for name in _instances(service):
        yield name, service.command, {}
    for name, worker in _workers(service):
        yield name, worker.command, worker.env


def _instances(service: Service) -> list[str]:
    return [f"service-{number}" for number in range(1, service.instances + 1)]


def _workers(service: Service) -> Iterator[tuple[str, Worker]]:
    for worker in service.workers:
        for number in range(1, worker.instances + 1):
            yield f"{worker.name}-{number}", worker
