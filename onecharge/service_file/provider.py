"""The two ends that face the provider: the calls that the service makes, the events it takes."""

import ipaddress
import re
from typing import Self

from pydantic import Field, field_validator, model_validator

from onecharge.service_file.words import Seconds
from onecharge.toml_file import Misplaced, Section
from simulator import catalogue

TEST_SECRET = "whsec_b25lY2hhcmdlLXRlc3Qtc2VjcmV0LTMyLWJ5dGVzISE="  # noqa: S105 - a fake provider's
"""What events are signed with unless a file says otherwise."""

TEST_KEY = "sk_test_onecharge"
"""A secret key that every dialect takes; what services show unless a file says otherwise."""

_LISTEN = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>\d{1,5})")


class ProviderSide(Section):
    """The provider that the service expects, and how long it waits for it."""

    dialect: str
    """Which provider is played: see ``onecharge list dialects``."""
    key: str = Field(default=TEST_KEY, min_length=1)
    """The key that the service shows to the provider: ``{provider_key}``. Live ones are refused."""
    timeout_s: Seconds = 10.0
    """How long the service waits for an answer of the provider."""
    lease_s: Seconds | None = None
    """After how long the service takes a key over whose owner is silent."""
    retention_s: Seconds | None = None
    """How long the service remembers a customer's key."""
    listen: str | None = None
    """Attached mode: where the provider listens, as ``127.0.0.1:12111``."""
    token: str | None = Field(default=None, min_length=16)
    """What ``/_sim/`` demands; required when the provider listens beyond this machine."""

    @field_validator("dialect")
    @classmethod
    def _known_dialect(cls, name: str) -> str:
        known = sorted(catalogue.dialects())
        if name not in known:
            raise ValueError(f"expected one of {', '.join(known)}, found {name!r}")
        return name

    @field_validator("listen")
    @classmethod
    def _an_address(cls, listen: str | None) -> str | None:
        if listen is not None and not _in_two(listen):
            raise ValueError(f"expected host:port as 127.0.0.1:12111, found {listen!r}")
        return listen

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port to listen on: any free port of this machine unless it is said."""
        return (_in_two(self.listen) if self.listen else None) or ("127.0.0.1", 0)

    @model_validator(mode="after")
    def _no_open_door(self) -> Self:
        host, _ = self.address
        if self.token is None and not _is_loopback(host):
            raise Misplaced(
                ("token",),
                f"required, but missing: {host} can be reached from other machines; "
                "say what /_sim/ shall demand, 16 characters or more",
            )
        return self


class Webhook(Section):
    """Where the provider's events go, and the secret they are signed with."""

    path: str = Field(pattern=r"^/")
    """Where the service takes events."""
    secret: str = Field(default=TEST_SECRET, min_length=1)
    """What events are signed with: ``{webhook_secret}``."""


def _in_two(listen: str) -> tuple[str, int] | None:
    if (found := _LISTEN.fullmatch(listen)) and 1 <= int(found["port"]) <= 65535:
        return found["six"] or found["host"], int(found["port"])
    return None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
