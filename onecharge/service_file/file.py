"""The service file: how to start a charge service, talk to it and read what it believes.

Rule 1: everything the harness knows of a service stands in this file; it imports none.
Rule 2: a capability is present unless the file declares it absent.
Rule 3: every request is a template; a placeholder that nothing fills is an error at once.
Rule 4: no live key and nobody's card number stands in it, not even in a comment.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from onecharge.history.case import Claim
from onecharge.service_file.order_of_use import troubles
from onecharge.service_file.process import Database, Explore, Redis, Service
from onecharge.service_file.provider import ProviderSide, Webhook
from onecharge.service_file.reading import Effects, Read, Tick
from onecharge.service_file.requests import Browser, Capture, Charge, Prepare, Refund
from onecharge.service_file.words import Seconds, SomeSeconds
from onecharge.templates import placeholders
from onecharge.toml_file import (
    FileError,
    Misplaced,
    Section,
    field_on,
    line_of,
    parsed,
    read_text,
    validated,
)
from simulator.redaction import found_in


class Orders(Section):
    """What can be ordered."""

    amounts: tuple[Annotated[int, Field(gt=0)], ...] = ()
    """A fixed price list in minor units; without it every order has an amount of its own."""
    currency: str = Field(default="EUR", pattern=r"^[A-Z]{3}$")
    """The currency of every order, as ISO 4217 writes it."""


class Timing(Section):
    """How long the service may take, by its own word."""

    settles_within_s: Seconds | None = None
    """After faults stop, until every order is settled; else ten times the clean control's time."""
    answers_within_s: Seconds = 10.0
    """Until a customer has an answer."""
    calls_provider_within_s: SomeSeconds = 0.0
    """After its answer, until the provider is called: for services that charge from a worker."""
    books_within_s: SomeSeconds = 0.0
    """After an event's 2xx, until its effect is booked: for services that take events first."""


class Capabilities(Section):
    """What the service can do. Declaring one absent makes its invariants not applicable."""

    webhooks: bool = True
    """It takes the provider's events."""
    read_back: bool = True
    """It can be asked what became of an order."""
    effects: bool = True
    """It can be asked what it has booked."""
    restartable: bool = True
    """It can be killed and started again; never when it is attached to."""
    refunds: bool = True
    """It refunds."""
    tenants: bool = True
    """It has several tenants, whose keys are apart."""
    upstream_keys: bool = True
    """It sends idempotency keys to the provider."""
    invoices: bool = False
    """It charges what the provider's billing says is due, when an event says so."""
    lookups: bool = True
    """It asks the provider what became of a call that it has no answer to."""
    reconciles: bool = True
    """It finds out by itself what became of a call without an answer."""

    def lacking(self, needs: Iterable[str]) -> tuple[str, ...]:
        """Return which of these capabilities the service declares absent."""
        return tuple(sorted(need for need in needs if not getattr(self, need)))


class ServiceFile(Section):
    """A whole ``onecharge.toml``."""

    service: Service
    database: Database | None = None
    redis: Redis | None = None
    provider: ProviderSide
    orders: Orders = Orders()
    headers_command: tuple[str, ...] = ()
    """A command that prints a JSON object: headers for every request about its order."""
    prepare: tuple[Prepare, ...] = ()
    charge: Charge
    browser: tuple[Browser, ...] = ()
    refund: Refund | None = None
    capture: Capture | None = None
    read: Read | None = None
    effects: Effects | None = None
    tick: Tick | None = None
    webhook: Webhook | None = None
    tenants: dict[str, str] = Field(default={"shop": "shop"}, min_length=1)
    """Who sells: names, and the credential of each, which requests name as ``{token}``."""
    timing: Timing = Timing()
    capabilities: Capabilities = Capabilities()
    explore: Explore = Explore()
    claims: tuple[Claim, ...] = ()
    """What it is held to beyond what is usual, as that an order is charged once under any keys."""

    @property
    def abilities(self) -> Capabilities:
        """Return its capabilities, without what the rest of the file leaves nobody able to ask."""
        impossible = {
            "restartable": self.service.attached,  # nobody can kill it or start it again
            "refunds": self.refund is None,  # nobody knows how to ask for one
            "tenants": len(self.tenants) == 1,  # with nobody's keys could its own be mixed up
        }
        absent = dict.fromkeys((name for name, is_so in impossible.items() if is_so), False)
        return self.capabilities.model_copy(update=absent)

    @model_validator(mode="after")
    def _attached_or_not(self) -> Self:
        if self.service.attached:
            self._fits_a_service_that_runs_already()
        elif self.provider.listen is not None:
            raise Misplaced(
                ("provider", "listen"),
                "only for a service that runs already (attached mode); one with a command is told "
                "by {provider_url}",
            )
        return self

    def _fits_a_service_that_runs_already(self) -> None:
        if self.database is not None:
            raise Misplaced(
                ("database",), "a service that runs already has its database; leave this table out"
            )
        if self.redis is not None:
            raise Misplaced(
                ("redis",), "a service that runs already has its Redis; leave this table out"
            )
        if self.explore.env:
            raise Misplaced(
                ("explore", "env"),
                "only for a service with a command; this one runs already, at urls",
            )
        if self.provider.listen is None:
            raise Misplaced(
                ("provider", "listen"),
                "required, but missing: the service runs already and calls the provider at a fixed "
                'address; say which, as listen = "127.0.0.1:12111"',
            )
        if self.capabilities.restartable and "restartable" in self.capabilities.model_fields_set:
            raise Misplaced(
                ("capabilities", "restartable"),
                "expected false: without service.command nothing can be killed and started again",
            )

    @model_validator(mode="after")
    def _stores_are_described(self) -> Self:
        texts = [*self.service.env.values(), *self.explore.env.values()]
        texts += [text for worker in self.service.workers for text in worker.env.values()]
        if self.redis is None and any("redis_url" in placeholders(text) for text in texts):
            raise Misplaced(
                ("redis",),
                "required, but missing: {redis_url} is named, and nobody starts a Redis without "
                "a table [redis]",
            )
        return self

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

    @model_validator(mode="after")
    def _refunds_are_described(self) -> Self:
        declared = "refunds" in self.capabilities.model_fields_set
        if self.refund is None and declared and self.capabilities.refunds:
            raise Misplaced(
                ("capabilities", "refunds"),
                "table [refund] is missing; write it, or declare capabilities.refunds = false",
            )
        return self

    @model_validator(mode="after")
    def _tenants_are_named(self) -> Self:
        declared = "tenants" in self.capabilities.model_fields_set
        if len(self.tenants) == 1 and declared and self.capabilities.tenants:
            raise Misplaced(
                ("capabilities", "tenants"),
                "[tenants] names one tenant only; name another, or declare "
                "capabilities.tenants = false",
            )
        return self

    @model_validator(mode="after")
    def _every_placeholder_is_filled(self) -> Self:
        for place, says in troubles(self):
            raise Misplaced(place, says)
        return self


def exploring(file: ServiceFile) -> ServiceFile:
    """Return the service file as it is where orders are tried out: with the ``[explore]`` env."""
    env = {**file.service.env, **file.explore.env}
    return file.model_copy(update={"service": file.service.model_copy(update={"env": env})})


def read_service_file(path: Path) -> ServiceFile:
    """Return the service file at ``path``; raise ``FileError`` with one clear sentence if not."""
    return service_file_of(read_text(path), path)


def service_file_of(text: str, path: Path) -> ServiceFile:
    """Return the service file that this text would be at ``path``; raise ``FileError`` if none."""
    data = parsed(text, path)
    _refuse_secrets(text, path)
    service_file = validated(ServiceFile, data, text, path)
    folder = path.parent / service_file.service.folder
    if not folder.is_dir():
        line = line_of(text, ("service", "folder"))
        raise FileError.at(path, line, "service.folder", f"no such folder: {folder}")
    service = service_file.service.model_copy(update={"folder": folder.resolve()})
    return service_file.model_copy(
        update={"service": service, "capabilities": service_file.abilities}
    )


def _refuse_secrets(text: str, path: Path) -> None:
    """Raise at the first line with what must be nowhere near a test, without repeating it."""
    for number, line in enumerate(text.splitlines(), start=1):
        for found in found_in(line):
            says = f"a real-looking {found.kind}; use one that the provider gives out for tests"
            raise FileError.at(path, number, field_on(text, number), says)
