"""What the environment decides, checked once, before anything starts.

Rule 1: a bad value ends the start with one line that names the variable and what is wrong.
Rule 2: secrets are never part of a message or a repr.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from standardwebhooks import Webhook


def _database(text: str) -> str:
    try:
        url = make_url(text)
    except ArgumentError:
        raise ValueError("expected postgresql://user:password@host:port/name") from None
    if url.get_backend_name() not in {"postgresql", "postgres"}:
        raise ValueError("expected a URL that begins with postgresql://")
    return text


def _provider(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError("expected a URL that begins with http:// or https://")
    return text.rstrip("/")


Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class Settings(BaseModel):
    """The settings of one process; fields are the environment's variables in lower case."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: Port = 8000
    database_url: Annotated[str, AfterValidator(_database), Field(repr=False)]
    provider_kind: Literal["generic", "stripe"] = "generic"
    stripe_payment_method: str = "pm_card_visa"
    provider_url: Annotated[str, AfterValidator(_provider)]
    provider_api_key: Annotated[SecretStr, Field(min_length=1)]
    provider_key_retention_s: Annotated[float, Field(gt=0)] = 86_400.0
    webhook_secret: Annotated[SecretStr, Field(min_length=1)]
    webhook_tolerance_s: Annotated[float, Field(gt=0, le=300)] = 300.0
    invoice_token: SecretStr = SecretStr("")
    provider_timeout_s: Seconds = 5.0
    lease_s: Seconds = 15.0
    reconcile_every_s: Seconds = 5.0
    reconcile_at_least_every_s: Seconds = 300.0
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    reference_mutant: str = ""

    @model_validator(mode="after")
    def _a_key_outlives_its_calls(self) -> Self:
        # Otherwise even the repetition of one request might charge again.
        if self.provider_key_retention_s <= self.provider_timeout_s:
            raise ValueError("PROVIDER_KEY_RETENTION_S must exceed PROVIDER_TIMEOUT_S")
        return self

    @model_validator(mode="after")
    def _secrets_are_of_the_provider(self) -> Self:
        expected = _SECRETS[self.provider_kind]
        if not all(_usable(self.provider_kind, secret) for secret in self.webhook_secrets):
            raise ValueError(f"WEBHOOK_SECRET: expected {expected}, several with spaces between")
        return self

    @property
    def webhook_secrets(self) -> list[str]:
        """The secrets that a signature may be made with: during a rotation, the old one too."""
        return self.webhook_secret.get_secret_value().split()

    @property
    def database(self) -> URL:
        """The same URL for SQLAlchemy, with the driver this service brings."""
        return make_url(self.database_url).set(drivername="postgresql+psycopg")


_SECRETS: Final = {"generic": "whsec_ and base64", "stripe": "whsec_ and what follows it"}


def _usable(kind: str, secret: str) -> bool:
    if kind == "stripe":
        return secret.startswith("whsec_") and len(secret) > len("whsec_")
    try:
        Webhook(secret)
    except Exception:  # noqa: BLE001 - whatever the library dislikes, the secret is unusable
        return False
    return True


class SettingsError(Exception):
    """The environment is not usable; the message is one line for a person."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings in ``environment``; raise ``SettingsError`` with one line if not."""
    given = {
        name: environment[name.upper()]
        for name in Settings.model_fields
        if environment.get(name.upper(), "")  # an empty variable is an absent one
    }
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise SettingsError("; ".join(_sentence(problem) for problem in error.errors())) from None


def _sentence(problem: Mapping[str, object]) -> str:
    place = problem["loc"]
    assert isinstance(place, tuple)
    if problem["type"] == "missing":
        return f"{place[0].upper()} is not set"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{place[0].upper()}: {message}" if place else message
