"""The two ends that face the provider: the calls that the service makes, the events it takes."""

from pydantic import Field, field_validator

from onecharge.service_file.words import Seconds
from onecharge.toml_file import Section
from simulator import catalogue

TEST_SECRET = "whsec_b25lY2hhcmdlLXRlc3Qtc2VjcmV0LTMyLWJ5dGVzISE="  # noqa: S105 - a fake provider's
"""What events are signed with unless a file says otherwise."""


class ProviderSide(Section):
    """The provider that the service expects, and how long it waits for it."""

    dialect: str
    key: str = "sk_test_onecharge"
    timeout_s: Seconds = 10.0
    lease_s: Seconds | None = None

    @field_validator("dialect")
    @classmethod
    def _known_dialect(cls, name: str) -> str:
        known = sorted(catalogue.dialects())
        if name not in known:
            raise ValueError(f"expected one of {', '.join(known)}, found {name!r}")
        return name


class Webhook(Section):
    """Where the provider's events go, and the secret they are signed with."""

    path: str = Field(pattern=r"^/")
    secret: str = TEST_SECRET
