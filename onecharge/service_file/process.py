"""How the service is started, and what the harness starts for it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from onecharge.service_file.words import WORLD_VALUES, Seconds, only
from onecharge.toml_file import Section


class Service(Section):
    """How the service is started: ``instances`` copies of one command, each on its own port."""

    name: str = Field(min_length=1)
    command: tuple[str, ...] = Field(min_length=1)
    instances: int = Field(default=1, ge=1, le=16)
    folder: Path = Path()
    env: dict[str, str] = Field(default_factory=dict)
    ready: str = "/"
    ready_within_s: Seconds = 30.0

    @field_validator("command", "env", "ready")
    @classmethod
    def _known_world(cls, template: Any) -> Any:
        return only(template, WORLD_VALUES)


class Database(Section):
    """Whether the harness gives the service a fresh database, and of what kind."""

    kind: Literal["postgresql"]
