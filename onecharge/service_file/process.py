"""How the service is started, and what the harness starts for it; or where it runs already."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from onecharge.service_file.words import WORLD_VALUES, Seconds, only
from onecharge.toml_file import Misplaced, Section

Command = Annotated[tuple[str, ...], Field(min_length=1)]
"""A program and its arguments, each a text of its own; no shell reads them."""

_OF_OUR_OWN = ("instances", "setup", "setup_within_s", "workers", "env")
"""What only a service that the harness starts can have."""

_TAKEN = ("service", "setup", "postgresql", "initdb", "redis")
"""What processes of ours are called; logs go by these names as well."""


class Worker(Section):
    """A process beside the instances that listens nowhere: an outbox worker, a queue's consumer."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    """What reports and logs call it."""
    command: Command
    """The program and its arguments."""
    instances: int = Field(default=1, ge=1, le=16)
    """How many of them run."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of its own, beside those of [service.env]."""

    @field_validator("command", "env")
    @classmethod
    def _known_world(cls, template: Any) -> Any:
        return only(template, WORLD_VALUES - {"port"})


class Service(Section):
    """How the service is started: ``instances`` copies of one command, each on its own port.

    Without a ``command`` it runs already and is *attached* to at its ``urls``: nothing of it can
    be started or killed.
    """

    name: str = Field(min_length=1)
    """What reports call it."""
    command: Command | None = None
    """The program and its arguments. Without it the service runs already, at ``urls``."""
    urls: tuple[str, ...] = ()
    """Attached mode: where the instances listen."""
    instances: int = Field(default=1, ge=1, le=16)
    """How many copies run; two of them find races that one cannot have."""
    folder: Path = Path()
    """The working directory of every command in this file, seen from the file's own folder."""
    env: dict[str, str] = Field(default_factory=dict)
    """The environment, beside our own; says where the provider is."""
    setup: tuple[Command, ...] = ()
    """Commands that run to their end, one after the other, before the first start: migrations."""
    setup_within_s: Seconds = 120.0
    """How long each of them may take."""
    ready: str = Field(default="/", pattern=r"^/")
    """What is asked (GET) until it is answered with a status below 400."""
    ready_within_s: Seconds = 30.0
    """How long that may take."""
    workers: tuple[Worker, ...] = ()
    """Processes beside the instances that listen nowhere."""

    @field_validator("command", "env", "ready", "setup")
    @classmethod
    def _known_world(cls, template: Any) -> Any:
        return only(template, WORLD_VALUES)

    @field_validator("urls")
    @classmethod
    def _addresses(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            if not re.fullmatch(r"https?://[^/\s]+/?", url):
                raise ValueError(f"expected an address as http://127.0.0.1:8000, found {url!r}")
        return tuple(url.rstrip("/") for url in urls)

    @property
    def attached(self) -> bool:
        """Whether the service runs already and is none of our processes."""
        return self.command is None

    @model_validator(mode="after")
    def _started_or_attached(self) -> Self:
        if self.command is not None:
            if self.urls:
                raise Misplaced(
                    ("urls",),
                    "only for a service that runs already (attached mode); "
                    "one with a command is given its {port}",
                )
            self._no_name_twice()
            return self
        if not self.urls:
            raise Misplaced(
                ("command",),
                "required, but missing: the command that starts the service, "
                'or, if it runs already, urls = ["http://127.0.0.1:8000"]',
            )
        for field in _OF_OUR_OWN:
            if field in self.model_fields_set:
                raise Misplaced(
                    (field,), "only for a service with a command; this one runs already, at urls"
                )
        return self

    def _no_name_twice(self) -> None:
        names = [worker.name for worker in self.workers]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise Misplaced(
                    ("workers", number, "name"), f"expected a name of its own, found {name!r} again"
                )
            if name in _TAKEN:
                raise Misplaced(
                    ("workers", number, "name"),
                    f"expected a name of its own, found {name!r}, which is one of ours",
                )


class Explore(Section):
    """What is otherwise while every order of a request's steps is tried out."""

    budget_s: float = Field(default=0, ge=0, le=86_400)
    """For how long `onecharge verify` explores, beside the scenarios of the library."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables in place of those of [service.env]: a reconciler that stays out of the way."""

    @field_validator("env")
    @classmethod
    def _known_world(cls, template: Any) -> Any:
        return only(template, WORLD_VALUES)


class Redis(Section):
    """A Redis for the service: ``{redis_url}``. One of the run's own unless it says otherwise."""

    url: str | None = Field(default=None, pattern=r"^(redis|rediss|unix)://")
    """One that runs already: its database must be empty, and is emptied after the run."""


class Database(Section):
    """A fresh database that the harness makes for the service and drops again."""

    kind: Literal["postgresql"]
    """Of which kind it is."""
    scheme: str = Field(default="postgresql", pattern=r"^(postgresql|postgres)(\+[a-z0-9_]+)?$")
    """What ``{database_url}`` begins with, as the service's driver wants it."""

    def url(self, plain: str) -> str:
        """Return the URL as the service's driver reads it."""
        _, _, rest = plain.partition("://")
        return f"{self.scheme}://{rest}"
