"""The service file: how to start a charge service, talk to it and read what it believes.

Rule 1: everything the harness knows of a service stands in this file; it imports none.
Rule 2: a capability is present unless the file declares it absent.
Rule 3: every request is a template; a placeholder that nothing fills is an error at once.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from onecharge.service_file.process import Database, Service
from onecharge.service_file.provider import ProviderSide, Webhook
from onecharge.service_file.reading import Effects, Read
from onecharge.service_file.requests import Charge
from onecharge.service_file.words import Seconds
from onecharge.toml_file import FileError, Section, line_of, read_toml, validated


class Timing(Section):
    """How long the service may take, by its own word."""

    settles_within_s: Seconds | None = None
    answers_within_s: Seconds = 10.0


class Capabilities(Section):
    """What the service can do. Declaring one absent makes its invariants not applicable."""

    webhooks: bool = True
    read_back: bool = True
    effects: bool = True
    restartable: bool = True
    refunds: bool = True
    tenants: bool = True
    upstream_keys: bool = True
    reconciles: bool = True

    def lacking(self, needs: Iterable[str]) -> tuple[str, ...]:
        """Return which of these capabilities the service declares absent."""
        return tuple(sorted(need for need in needs if not getattr(self, need)))


class ServiceFile(Section):
    """A whole ``onecharge.toml``."""

    service: Service
    database: Database | None = None
    provider: ProviderSide
    charge: Charge
    read: Read | None = None
    effects: Effects | None = None
    webhook: Webhook | None = None
    tenants: dict[str, str] = Field(default={"shop": "shop"}, min_length=1)
    timing: Timing = Timing()
    capabilities: Capabilities = Capabilities()
    claims: tuple[Literal["provider_ignores_keys"], ...] = ()

    @model_validator(mode="after")
    def _capabilities_are_described(self) -> Self:
        for capability, table in (
            ("webhooks", self.webhook),
            ("read_back", self.read),
            ("effects", self.effects),
        ):
            if getattr(self.capabilities, capability) and table is None:
                section = {"webhooks": "webhook", "read_back": "read"}.get(capability, capability)
                raise ValueError(
                    f"table [{section}] is missing; write it, or declare "
                    f"capabilities.{capability} = false"
                )
        return self


def read_service_file(path: Path) -> ServiceFile:
    """Return the service file at ``path``; raise ``FileError`` with one clear sentence if not."""
    data, text = read_toml(path)
    service_file = validated(ServiceFile, data, text, path)
    folder = path.parent / service_file.service.folder
    if not folder.is_dir():
        line = line_of(text, ("service", "folder"))
        raise FileError.at(path, line, "service.folder", f"no such folder: {folder}")
    service = service_file.service.model_copy(update={"folder": folder.resolve()})
    return service_file.model_copy(update={"service": service})
