"""The service file: how to start a charge service, talk to it and read what it believes.

Rule 1: everything the harness knows of a service stands in this file; it imports none.
Rule 2: a capability is present unless the file declares it absent.
Rule 3: every request is a template; a placeholder that nothing fills is an error at once.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import jsonpath
from pydantic import Field, field_validator, model_validator

from onecharge.history.outcomes import AnswerRules
from onecharge.templates import filled_text, placeholders
from onecharge.toml_file import FileError, Section, line_of, read_toml, validated
from simulator import catalogue

ORDER_VALUES = {"key", "order", "amount_minor", "currency", "customer", "tenant", "token"}
"""What a request template about one order may name."""

WORLD_VALUES = {
    "python",
    "host",
    "port",
    "instance",
    "database_url",
    "provider_url",
    "provider_key",
    "webhook_secret",
    "mutant",
}
"""What the command and the environment of a service may name."""

TEST_SECRET = "whsec_b25lY2hhcmdlLXRlc3Qtc2VjcmV0LTMyLWJ5dGVzISE="  # noqa: S105 - a fake provider's
"""What events are signed with unless a file says otherwise."""

Seconds = Annotated[float, Field(gt=0)]
Status = Annotated[int, Field(ge=100, le=599)]
Words = tuple[str, ...]


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
        return _only(template, WORLD_VALUES)


class Database(Section):
    """Whether the harness gives the service a fresh database, and of what kind."""

    kind: Literal["postgresql"]


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


class Request(Section):
    """One HTTP request as a template."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = Field(pattern=r"^/")
    headers: dict[str, str] = Field(default_factory=dict)
    json_body: dict[str, Any] | None = Field(default=None, alias="json")

    @field_validator("path", "headers", "json_body")
    @classmethod
    def _known_order(cls, template: Any) -> Any:
        return _only(template, ORDER_VALUES)


class Answer(Section):
    """How to read an answer: JSONPaths into its body, words for its outcome, sets of statuses."""

    status: str = "$.status"
    charge: str = "$.id"
    provider_charge: str | None = None
    succeeded: Words = ("succeeded",)
    pending: Words = ("pending", "processing")
    failed: Words = ("failed",)
    declined: tuple[Status, ...] = (402,)
    mismatch: tuple[Status, ...] = (422,)
    invalid: tuple[Status, ...] = (400, 401, 403, 404, 405, 413)
    in_flight: tuple[Status, ...] = (409,)
    retry_later: tuple[Status, ...] = (425, 429, 503)

    @field_validator("status", "charge", "provider_charge")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return _jsonpath(path)

    def rules(self) -> AnswerRules:
        """Return the same as the judge's rules for classifying an answer."""
        return AnswerRules(
            declined=frozenset(self.declined),
            mismatch=frozenset(self.mismatch),
            invalid=frozenset(self.invalid),
            in_flight=frozenset(self.in_flight),
            retry_later=frozenset(self.retry_later),
            succeeded=frozenset(self.succeeded),
            pending=frozenset(self.pending),
            failed=frozenset(self.failed),
        )


class Charge(Request):
    """The request by which a customer pays, and how its answer is to be understood."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    answer: Answer = Answer()


class Read(Request):
    """The request that asks the service what became of an order."""

    status: str = "$.status"
    charge: str = "$.id"
    amount_minor: str | None = None

    @field_validator("status", "charge", "amount_minor")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return _jsonpath(path)


class Effects(Request):
    """The request that lists what the service has booked; ``each`` yields one node an effect."""

    each: str
    amount_minor: str = "$.amount_minor"

    @field_validator("each", "amount_minor")
    @classmethod
    def _a_path(cls, path: str) -> str:
        return str(_jsonpath(path))


class Webhook(Section):
    """Where the provider's events go, and the secret they are signed with."""

    path: str = Field(pattern=r"^/")
    secret: str = TEST_SECRET


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


def found(path: str, body: Any) -> Any:
    """Return the first node that a JSONPath finds in a body, or None."""
    return next(iter(jsonpath.findall(path, body)), None)


def _only(template: Any, known: set[str]) -> Any:
    for name in placeholders(template):
        if name not in known:
            raise ValueError(f"unknown placeholder {{{name}}}; known here: {_listed(known)}")
    return template


def _jsonpath(path: str | None) -> str | None:
    if path is not None:
        example = filled_text(path, dict.fromkeys(ORDER_VALUES, "x"))
        try:
            jsonpath.compile(example)
        except jsonpath.JSONPathError as error:
            raise ValueError(f"expected a JSONPath, found {path!r}: {error}") from None
    return path


def _listed(names: set[str]) -> str:
    return " ".join(f"{{{name}}}" for name in sorted(names))
